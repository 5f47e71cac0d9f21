/** Where the parts of the road stand in its picture: in two rows on a wide screen, below each other on a phone. */
import type { PartId } from './road-parts.ts';

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface RoadLayout {
  readonly width: number;
  readonly height: number;
  readonly boxes: Readonly<Record<PartId, Box>>;
  /** The road itself, as a path. */
  readonly road: string;
  /** Small ways that lead to it. */
  readonly ways: readonly string[];
}

const around = (x: number, y: number, width: number, height: number): Box => ({
  x: x - width / 2,
  y: y - height / 2,
  width,
  height,
});

function wideLayout(): RoadLayout {
  const [columns, upper, lower] = [[105, 379, 653, 927], 130, 318];
  const big = (column: number, y: number): Box => around(columns[column] ?? 0, y, 208, 84);
  const small = (x: number, y: number): Box => around(x, y, 196, 56);
  return {
    width: 1062,
    height: 362,
    boxes: {
      wallet: big(0, upper),
      card: small(274, 30),
      x402: small(484, 30),
      payment: big(1, upper),
      upload: big(2, upper),
      bundle: big(3, upper),
      chain: big(3, lower),
      gateway: big(2, lower),
      router: big(1, lower),
      reader: big(0, lower),
      names: small(516, 224),
    },
    road: `M105 ${upper}H960Q1045 ${upper} 1045 ${(upper + lower) / 2}T960 ${lower}H105`,
    ways: [
      'M300 58V88',
      'M458 58V88',
      // From the payment service, which sells them, to the gateway, which serves what they stand for.
      'M379 172V224H420',
      'M612 224H653V276',
    ],
  };
}

const [phoneWidth, rowHeight, step] = [358, 78, 100];

function phoneLayout(): RoadLayout {
  const row = (index: number): number => rowHeight / 2 + 4 + index * step;
  const whole = (index: number): Box => around(phoneWidth / 2, row(index), phoneWidth - 4, rowHeight);
  const half = (index: number, side: -1 | 1): Box =>
    around(phoneWidth / 2 + side * 90, row(index), phoneWidth / 2 - 26, rowHeight);
  return {
    width: phoneWidth,
    height: row(9) + rowHeight / 2 + 4,
    boxes: {
      wallet: whole(0),
      card: half(1, -1),
      x402: half(1, 1),
      payment: whole(2),
      upload: whole(3),
      bundle: whole(4),
      chain: whole(5),
      names: half(6, 1),
      gateway: whole(7),
      router: whole(8),
      reader: whole(9),
    },
    road: `M${phoneWidth / 2} ${row(0)}V${row(9)}`,
    ways: [-1, 1]
      .map((side) => `M${phoneWidth / 2 + side * 90} ${row(1) + rowHeight / 2}v${step - rowHeight}`)
      .concat(`M${phoneWidth / 2 + 90} ${row(6) + rowHeight / 2}v${step - rowHeight}`),
  };
}

export const layouts = { wide: wideLayout(), phone: phoneLayout() } as const;
