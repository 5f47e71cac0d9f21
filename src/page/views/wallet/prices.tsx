/** What storage costs. The size is part of the address, so that an answer can be sent to somebody. */
import type { Place } from '../../app/location.ts';
import { navigate } from '../../app/location.ts';
import { Card, Columns, Fact, Facts } from '../../kit/card.tsx';
import { NumberField, Select } from '../../kit/form.tsx';
import { formatBytes, formatCredits, formatDollars } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Table } from '../../kit/table.tsx';
import { paymentInfo, priceOfBytes, type Rates, rates } from '../../services/payment.ts';
import { texts } from '../../texts.ts';
import { formatMoney, parseAmount, worthOf } from './amounts.ts';
import { useSettled } from './top-up/card.tsx';

const words = texts.wallet.prices;

const units = { KiB: 10, MiB: 20, GiB: 30, TiB: 40 } as const;
type Unit = keyof typeof units;
const unitNames: readonly Unit[] = ['KiB', 'MiB', 'GiB', 'TiB'];

const examples = [
  { name: words.examples.page, bytes: 200n * 2n ** 10n },
  { name: words.examples.photo, bytes: 4n * 2n ** 20n },
  { name: words.examples.song, bytes: 8n * 2n ** 20n },
  { name: words.examples.gibibyte, bytes: 2n ** 30n },
  { name: words.examples.film, bytes: 3n * 2n ** 30n },
];

export function Prices({ place }: { readonly place: Place }) {
  const text = place.query.get('size') ?? '1';
  const unit = unitNames.find((name) => name === place.query.get('unit')) ?? 'GiB';
  const bytes = bytesOf(text, unit);
  const settled = useSettled(bytes);
  const show = (size: string, of: Unit): void =>
    navigate(`/wallet/prices?${new URLSearchParams({ size, unit: of })}`, { replace: true });
  const price = useLoad(
    async (signal) => (settled === undefined ? undefined : priceOfBytes(settled, signal)),
    [settled],
    { keep: true },
  );
  const table = useLoad(readTable, []);
  return (
    <>
      <PageTitle title={words.title} note={words.note} />
      <Columns>
        <Card>
          <div class="wallet-pair">
            <NumberField
              label={words.size}
              value={text}
              onInput={(size) => show(size, unit)}
              error={bytes === undefined && text !== '' ? words.wrong : undefined}
            />
            <Select
              label={words.unit}
              value={unit}
              options={unitNames.map((name) => ({ value: name, label: name }))}
              onChange={(next) => show(text, next)}
            />
          </div>
          <Loaded of={price}>
            {(winc) => winc !== undefined && <Cost winc={winc} price={table.value?.price} />}
          </Loaded>
        </Card>
        <Card title={words.table}>
          <Loaded of={table}>
            {({ price: rate, rows, freeBytes }) => (
              <>
                <Table
                  caption={words.table}
                  rows={rows}
                  rowKey={({ name }) => name}
                  columns={[
                    { id: 'what', head: words.what, cell: ({ name }) => name },
                    {
                      id: 'size',
                      head: words.size,
                      align: 'end',
                      cell: ({ bytes: size }) => formatBytes(size),
                    },
                    {
                      id: 'credits',
                      head: texts.wallet.approvals.amount,
                      align: 'end',
                      cell: ({ winc }) => formatCredits(winc),
                    },
                    {
                      id: 'dollars',
                      head: 'USD',
                      align: 'end',
                      cell: ({ winc }) => formatDollars(worthOf(winc, rate)),
                    },
                  ]}
                />
                {freeBytes > 0 && <p class="soft">{words.free(formatBytes(freeBytes))}</p>}
              </>
            )}
          </Loaded>
        </Card>
      </Columns>
    </>
  );
}

function Cost({ winc, price }: { readonly winc: bigint; readonly price: Rates | undefined }) {
  return (
    <Facts>
      <Fact label={words.costs}>
        <strong class="number">{formatCredits(winc)}</strong>
      </Fact>
      {price !== undefined &&
        Object.keys(price.fiat)
          .sort(
            (left, right) => Number(right === 'usd') - Number(left === 'usd') || left.localeCompare(right),
          )
          .map((currency) => (
            <Fact key={currency} label={words.inCurrency(currency.toUpperCase())}>
              <span class="number">{formatMoney(worthOf(winc, price, currency) * 100, currency, true)}</span>
            </Fact>
          ))}
    </Facts>
  );
}

async function readTable(signal: AbortSignal) {
  const [price, info, ...wincs] = await Promise.all([
    rates(signal),
    paymentInfo(signal),
    ...examples.map(({ bytes }) => priceOfBytes(bytes, signal)),
  ]);
  const rows = examples.map((example, index) => ({ ...example, winc: wincs[index] ?? 0n }));
  return { price, rows, freeBytes: info.freeUploadLimitBytes ?? 0 };
}

/** Whole bytes of a size such as `1.5`; thousandths of a unit are near enough. */
function bytesOf(text: string, unit: Unit): bigint | undefined {
  const thousandths = parseAmount(text, 3);
  return thousandths === undefined ? undefined : (thousandths * 2n ** BigInt(units[unit]) + 999n) / 1_000n;
}
