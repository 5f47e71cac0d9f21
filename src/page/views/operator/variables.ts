/** Variables of all surfaces in one list: one row where they agree, each value with its surface where they do not. */

/** As a surface tells it. */
export interface ToldVariable {
  readonly surface: string;
  readonly group: string;
  readonly name: string;
  readonly meaning: string;
  readonly value: string;
  readonly default: string;
  readonly isSet: boolean;
}

export interface Variable {
  readonly name: string;
  readonly group: string;
  readonly meaning: string;
  readonly default: string;
  readonly isSet: boolean;
  /** The surfaces that have each value. */
  readonly values: readonly { readonly value: string; readonly surfaces: readonly string[] }[];
}

export function joinVariables(told: readonly ToldVariable[]): Variable[] {
  const byName = Map.groupBy(told, ({ name }) => name);
  return [...byName.values()].flatMap((same) => {
    const [first] = same;
    if (first === undefined) return [];
    const byValue = Map.groupBy(same, ({ value }) => value);
    return [
      {
        name: first.name,
        group: first.group,
        meaning: first.meaning,
        default: first.default,
        isSet: same.some(({ isSet }) => isSet),
        values: [...byValue].map(([value, rows]) => ({
          value,
          surfaces: rows.map(({ surface }) => surface),
        })),
      },
    ];
  });
}

/** Every word must be in the name, the group, the meaning or a value. */
export function findVariables(
  variables: readonly Variable[],
  query: string,
  onlySet: boolean,
): readonly Variable[] {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  return variables.filter((variable) => {
    if (onlySet && !variable.isSet) return false;
    const text = [
      variable.name,
      variable.group,
      variable.meaning,
      ...variable.values.map(({ value }) => value),
    ]
      .join(' ')
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
