import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { explainMismatch } from './explain.ts';
import { type Filter, parseFilter } from './filter.ts';
import { compileFilter, partitionOf, type Subject } from './match.ts';

const tag = (name: string, value: string) => ({ name: Buffer.from(name), value: Buffer.from(value) });
const subject: Subject = {
  tags: [tag('App-Name', 'Drive'), tag('Type', 'file'), tag('Type', 'folder')],
  attribute: (name) => ({ owner_address: 'someone', data_size: 12, parent_id: '' })[name],
};
const explain = (json: unknown): string | undefined => explainMismatch(parseFilter(json), subject);

describe('what kept a record out', () => {
  const cases: [unknown, string][] = [
    [{ never: true }, '$.never lets nothing through'],
    [
      { tags: [{ name: 'App-Name', value: 'Other' }] },
      '$.tags[0] wants the tag "App-Name" = "Other", and it has "Drive"',
    ],
    [
      { tags: [{ name: 'App-Name' }, { name: 'Unit', valueStartsWith: 'k' }] },
      '$.tags[1] wants a tag "Unit" that begins with "k", and it has no tag of that name',
    ],
    [
      { tags: [{ name: 'Type', value: 'x' }] },
      '$.tags[0] wants the tag "Type" = "x", and it has "file", "folder"',
    ],
    [
      { attributes: { data_size: 12, owner_address: 'me' } },
      '$.attributes wants owner_address = "me", and it is "someone"',
    ],
    [{ attributes: { target: 'x' } }, '$.attributes wants target = "x", and it has none'],
    [{ isNestedBundle: true }, '$.isNestedBundle wants what lies in another bundle, and it does not'],
    [
      { not: { tags: [{ name: 'App-Name', value: 'Drive' }] } },
      '$.not excludes it, since {"tags":[{"name":"App-Name","value":"Drive"}]} matches',
    ],
    [
      { and: [{ always: true }, { or: [{ never: true }, { attributes: { data_size: 1 } }] }] },
      '$.and[1].or[0].never lets nothing through; $.and[1].or[1].attributes wants data_size = "1", and it is "12"',
    ],
    [
      { or: Array.from({ length: 5 }, () => ({ never: true })) },
      '$.or[0].never lets nothing through; $.or[1].never lets nothing through; $.or[2].never lets nothing through; and 2 more like these',
    ],
    [{ or: [] }, '$.or has no alternative'],
  ];
  for (const [filter, words] of cases) it(words, () => assert.equal(explain(filter), words));

  it('a partition that it does not fall into', () => {
    const own = partitionOf('someone', 8);
    const hashPartition = {
      partitionCount: 8,
      partitionKey: 'owner_address',
      targetPartitions: [(own + 1) % 8],
    };
    assert.equal(
      explain({ hashPartition }),
      `$.hashPartition wants owner_address in the partitions ${(own + 1) % 8}, and it falls into ${own}`,
    );
  });

  it('is told exactly where the filter does not match', () => {
    const parts: Filter[] = [
      { always: true },
      { never: true },
      { tags: [{ name: 'Type', value: 'folder' }] },
      { tags: [] },
      { attributes: {} },
      { attributes: { data_size: 13 } },
      { isNestedBundle: true },
    ];
    for (const one of parts) {
      for (const other of parts) {
        for (const filter of [one, { not: one }, { and: [one, other] }, { or: [one, { not: other }] }]) {
          const matches = compileFilter(filter)(subject);
          assert.equal(explainMismatch(filter, subject) === undefined, matches, JSON.stringify(filter));
        }
      }
    }
  });
});
