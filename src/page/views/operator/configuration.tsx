/** Every setting of every service, found by its name, meaning or value. */
import { useState } from 'preact/hooks';
import type { OperatorService } from '../../../console/api.ts';
import type { ConfigVariable } from '../../../formats/admin-answers.ts';
import { navigate } from '../../app/location.ts';
import { Card } from '../../kit/card.tsx';
import { Checkbox, TextField } from '../../kit/form.tsx';
import { formatCount } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { type Ask, askGateway, askPayment, askRouter, askUpload } from '../../services/operator/ask.ts';
import type { RouterVariable } from '../../services/operator/router.ts';
import { opens } from '../../services/operator/session.ts';
import { texts } from '../../texts.ts';
import { pageQuery } from './page-query.ts';
import { VariableTable } from './variable-table.tsx';
import { findVariables, joinVariables, type ToldVariable } from './variables.ts';

const words = texts.operator.configuration;

export function ConfigurationPage({ query }: { readonly query: URLSearchParams }) {
  const told = useLoad(readVariables, []);
  const [sought, setSought] = useState(query.get('q') ?? '');
  const [onlySet, setOnlySet] = useState(query.get('set') === '1');
  const show = (words: string, set: boolean): void => {
    setSought(words);
    setOnlySet(set);
    const address = `/operator/configuration${pageQuery({ q: words, set: set ? '1' : undefined })}`;
    navigate(address, { replace: true });
  };
  return (
    <Card>
      <div class="operator-row">
        <TextField
          label={words.find}
          type="search"
          value={sought}
          onInput={(value) => show(value, onlySet)}
          hint={words.findHint}
          maxLength={100}
        />
        <Checkbox label={words.onlySet} checked={onlySet} onChange={(checked) => show(sought, checked)} />
      </div>
      <Loaded of={told}>
        {({ variables, silent }) => {
          const found = findVariables(variables, sought, onlySet);
          return (
            <>
              <p class="soft" role="status">
                {words.count(formatCount(found.length), formatCount(variables.length))}{' '}
                {silent.length > 0 &&
                  words.partly(silent.map((name) => texts.operator.services[name]).join(', '))}
              </p>
              <VariableTable variables={found} />
            </>
          );
        }}
      </Loaded>
    </Card>
  );
}

/** Of every service that the session opens; those that do not tell are named. */
async function readVariables() {
  const asks: readonly (readonly [OperatorService, Ask])[] = [
    ['gateway', askGateway],
    ['payment', askPayment],
    ['upload', askUpload],
    ['router', askRouter],
  ];
  const open = asks.filter(([service]) => opens(service));
  const answers = await Promise.allSettled(
    open.map(async ([service, ask]): Promise<ToldVariable[]> => {
      const { variables } = await ask<{ variables: readonly (ConfigVariable | RouterVariable)[] }>(
        'GET',
        'config',
      );
      return variables.map((one) => ({
        surface: service,
        group: one.group,
        name: one.name,
        meaning: one.meaning,
        // The two write a hidden secret differently.
        value: one.value === '(set)' ? '(hidden)' : one.value,
        default: 'default' in one ? one.default : '',
        isSet: 'isSet' in one ? one.isSet : !one.isDefault,
      }));
    }),
  );
  const [first] = answers;
  if (first?.status === 'rejected' && answers.every(({ status }) => status === 'rejected'))
    throw first.reason;
  return {
    variables: joinVariables(answers.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))),
    silent: open.flatMap(([service], at) => (answers[at]?.status === 'rejected' ? [service] : [])),
  };
}
