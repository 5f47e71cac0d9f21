import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeMetrics } from './merged-metrics.ts';

test('samples of all workers stand under one heading, each with its worker', () => {
  const text = (count: number) =>
    `# HELP up Whether\n# TYPE up gauge\nup 1\n\n# HELP seen Requests\n# TYPE seen counter\nseen{route="/a b"} ${count}\n`;
  assert.equal(
    mergeMetrics([
      [0, text(3)],
      [1, `${text(5)}# HELP late Only here\n# TYPE late gauge\nlate 2\n`],
    ]),
    [
      '# HELP up Whether\n# TYPE up gauge\nup{worker="0"} 1\nup{worker="1"} 1\n',
      '# HELP seen Requests\n# TYPE seen counter\nseen{worker="0",route="/a b"} 3\nseen{worker="1",route="/a b"} 5\n',
      '# HELP late Only here\n# TYPE late gauge\nlate{worker="1"} 2\n',
    ].join('\n'),
  );
});
