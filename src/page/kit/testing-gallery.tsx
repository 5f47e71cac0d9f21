/** Every part of the kit on one page, with the texts that strangers would write: for the tests and for looking at. */
import '../style/main.css';
import { render } from 'preact';
import { useState } from 'preact/hooks';
import { Button, LinkButton } from './button.tsx';
import { Card, Columns, Fact, Facts, Figure, Figures } from './card.tsx';
import { Chart, Spark } from './chart.tsx';
import { ConfirmDialog, confirmAction, Dialog } from './dialog.tsx';
import { Checkbox, Form, NumberField, Select, TextArea, TextField } from './form.tsx';
import { clampText, formatCoin, formatDollars, safeHref, WINC_PER_CREDIT } from './format.ts';
import { Code, Json } from './json.tsx';
import { Loaded, useLoad } from './load.tsx';
import { Notices, notify } from './notify.tsx';
import { PageTitle } from './page-title.tsx';
import { Progress } from './progress.tsx';
import type { Point } from './series.ts';
import { Empty, Problem, Skeleton } from './state.tsx';
import { Table } from './table.tsx';
import { Tabs } from './tabs.tsx';
import { Timeline } from './timeline.tsx';
import { Amount, Badge, Bytes, Copy, Id, Time } from './value.tsx';
import { VirtualTable } from './virtual-table.tsx';

const id = 'kqBNqJd1mmNk9rKZ3hYFJ8gHfTqYl0uL0kS7pWn2xE4';
const hostile = '<img src=x onerror=alert(1)> \u202Egnp.exe';
const now = Date.now();
const wave = (phase: number): Point[] =>
  Array.from({ length: 120 }, (_, at) => [now - (120 - at) * 30_000, 40 + 30 * Math.sin(at / 9 + phase)]);
const rows = Array.from({ length: 5 }, (_, at) => ({
  id: `${at}${id.slice(1)}`,
  bytes: 1234 * 10 ** at,
  at,
}));
const columns = [
  {
    id: 'id',
    head: 'Id',
    cell: (row: (typeof rows)[0]) => <Id value={row.id} href={`/tx/${row.id}`} what="id" />,
  },
  { id: 'name', head: 'Name', wide: true, cell: () => <bdi class="foreign">{clampText(hostile)}</bdi> },
  {
    id: 'size',
    head: 'Size',
    align: 'end' as const,
    cell: (row: (typeof rows)[0]) => <Bytes of={row.bytes} />,
  },
  { id: 'time', head: 'Time', cell: (row: (typeof rows)[0]) => <Time at={now - row.at * 4_000_000} /> },
];

function Gallery() {
  const [text, setText] = useState('Hello');
  const [amount, setAmount] = useState('1.5');
  const [choice, setChoice] = useState<'one' | 'two'>('one');
  const [isOn, setOn] = useState(true);
  const [isOpen, setOpen] = useState(false);
  const [answer, setAnswer] = useState('none');
  const [isBroken, setBroken] = useState(true);
  const load = useLoad(async () => {
    if (isBroken)
      throw new Error('The payment service did not answer. Start it with "turnpike start payment".');
    return 'It is there';
  }, [isBroken]);
  return (
    <main id="main" class="content">
      <PageTitle title="Kit" note="Every part on one page">
        <Button
          kind="primary"
          onClick={() => notify({ tone: 'good', text: 'Uploaded 3 files', href: '/upload' })}
        >
          Notify
        </Button>
        <Button onClick={() => setOpen(true)}>Open dialog</Button>
        <Button
          kind="danger"
          onClick={async () => {
            const question = {
              title: 'Reset the network?',
              text: 'Everything on it is lost.',
              confirm: 'Reset',
            };
            setAnswer((await confirmAction({ ...question, danger: true })) ? 'yes' : 'no');
          }}
        >
          Ask
        </Button>
        <output id="answer">{answer}</output>
      </PageTitle>
      <Tabs
        label="Parts"
        current="one"
        tabs={[
          { id: 'one', label: 'Overview', href: '/one' },
          { id: 'two', label: 'Transactions', href: '/two' },
        ]}
      />
      <Figures>
        <Figure label="Height" value="1,234,567" note="12 seconds ago" href="/explorer" />
        <Figure label="Credits" value={<Amount winc={WINC_PER_CREDIT * 3n} />} note={formatDollars(12.3)} />
        <Figure label="Errors" value="3" tone="bad" note={<Spark points={wave(0)} />} />
        <Figure label="Balance" value={formatCoin(1_500_000_000_000n, 12, 'AR')} />
      </Figures>
      <Columns>
        <Card title="Facts" actions={<Badge tone="good">verified</Badge>}>
          <Facts>
            <Fact label="Id">
              <Id value={id} what="transaction id" href={`/tx/${id}`} />
            </Fact>
            <Fact label="Owner">
              <Id value={id} full />
            </Fact>
            <Fact label="File name">
              <bdi class="foreign">{clampText(hostile)}</bdi>
            </Fact>
            <Fact label="Link">{safeHref('javascript:alert(1)') ?? 'no address of the web'}</Fact>
            <Fact label="State">
              <Badge>neutral</Badge> <Badge tone="info">info</Badge> <Badge tone="warn">warn</Badge>{' '}
              <Badge tone="bad">bad</Badge>
            </Fact>
          </Facts>
          <Copy text={id} what="id" />
        </Card>
        <Card title="Road">
          <Timeline
            steps={[
              { id: '1', label: 'Received', state: 'done', at: now - 60_000 },
              { id: '2', label: 'In a bundle', state: 'now', note: 'Waits for 3 more confirmations' },
              { id: '3', label: 'Permanent', state: 'waiting' },
              { id: '4', label: 'Announced', state: 'failed', note: 'No gateway answered' },
            ]}
          />
          <Progress label="cat.png" value={340} max={1000} />
        </Card>
      </Columns>
      <Columns>
        <Card title="Form">
          <Form onSubmit={() => setAnswer('sent')} error="The name is taken. Choose another one.">
            <TextField
              label="Name"
              value={text}
              onInput={setText}
              hint="Letters, digits and dashes"
              error="Too short"
            />
            <NumberField label="Amount" value={amount} onInput={setAmount} unit="credits" />
            <Select
              label="Kind"
              value={choice}
              onChange={setChoice}
              options={[
                { value: 'one', label: 'Lease' },
                { value: 'two', label: 'Permanent' },
              ]}
            />
            <Checkbox label="Remember it" checked={isOn} onChange={setOn} hint="In this browser" />
            <TextArea label="Note" value={text} onInput={setText} />
            <div class="actions">
              <Button kind="primary" submit>
                Send
              </Button>
              <Button busy>Busy</Button>
              <Button disabled>Disabled</Button>
              <Button kind="quiet">Quiet</Button>
              <LinkButton href="/x">Link</LinkButton>
            </div>
          </Form>
        </Card>
        <Card title="States" tone="warn">
          <Skeleton lines={2} />
          <Empty title="No uploads yet" action={<LinkButton href="/upload">Upload</LinkButton>}>
            Files that you upload are listed here.
          </Empty>
          <Loaded of={load}>{(value) => <p id="loaded">{value}</p>}</Loaded>
          <Button onClick={() => setBroken(false)}>Repair</Button>
          <Problem error={new Error(hostile)} />
        </Card>
      </Columns>
      <Card title="Chart">
        <Chart
          title="Requests"
          unit="/s"
          series={[
            { label: 'gateway', points: wave(0) },
            { label: 'upload', points: wave(2) },
          ]}
        />
        <Chart title="Nothing" unit="bytes" kind="bars" series={[]} />
      </Card>
      <Card title="Table">
        <Table caption="Items" columns={columns} rows={rows} rowKey={(row) => row.id} />
        <Table caption="None" columns={columns} rows={[]} rowKey={(row) => row.id} />
      </Card>
      <Card title="Long table">
        <VirtualTable
          caption="All items"
          rowCount={100_000}
          rowAt={(index) => index}
          rowKey={(row) => String(row)}
          columns={[
            { id: 'n', head: 'Number', cell: (row) => <a href={`/block/${row}`}>{row}</a> },
            {
              id: 'id',
              head: 'Id',
              wide: true,
              cell: (row) => <Id value={`${row}${id}`} what={`id ${row}`} />,
            },
            { id: 'size', head: 'Size', align: 'end', cell: (row) => <Bytes of={row * 1000} /> },
          ]}
        />
      </Card>
      <Columns>
        <Card title="Data">
          <Json value={{ name: hostile, list: [1, 2, { deep: { deeper: null } }], yes: true }} />
        </Card>
        <Card title="Code">
          <Code text={'turnpike start --temporary --free-ports\nturnpike upload cat.png'} what="commands" />
        </Card>
      </Columns>
      <Dialog open={isOpen} title="A dialog" onClose={() => setOpen(false)}>
        <p>It can be closed with Escape.</p>
      </Dialog>
      <ConfirmDialog />
      <Notices />
    </main>
  );
}

const root = document.getElementById('app');
if (root !== null) render(<Gallery />, root);
