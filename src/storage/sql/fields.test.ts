import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Type } from 'typebox';
import { columnList, columnsOf, fieldsReader, optionalText } from './fields.ts';
import { amountText } from './typed-rows.ts';

const schema = Type.Object({ id: Type.String(), quotedAmount: amountText, failure: optionalText });

describe('fields of a row', () => {
  it('have the names of the program, and null is undefined', () => {
    const row = fieldsReader('a quote', schema)({ id: 'one', quoted_amount: '12', failure: null });
    assert.deepEqual(row, { id: 'one', quotedAmount: '12', failure: undefined });
  });

  it('are refused where the row has another shape', () => {
    const read = fieldsReader('a quote', schema);
    assert.throws(
      () => read({ id: 'one', quoted_amount: 12, failure: null }),
      /^Error: a quote has another shape/,
    );
    assert.throws(
      () => read({ id: null, quoted_amount: '12', failure: null }),
      /^Error: a quote has another shape/,
    );
  });

  it('are stored under their columns: amounts as text, truth as 0 and 1, nothing as null', () => {
    assert.equal(columnList(schema.properties), 'id, quoted_amount, failure');
    assert.deepEqual(
      columnsOf({ id: 'one', quotedAmount: 10n ** 30n, refundDue: true, failure: undefined }),
      {
        id: 'one',
        quoted_amount: '1000000000000000000000000000000',
        refund_due: 1,
        failure: null,
      },
    );
  });
});
