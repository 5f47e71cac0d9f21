/** Variables that are set and mean nothing, where their name is nearly one of ours. */

/** A mistyped, missing, additional or swapped letter is one step each. */
export function stepsBetween(one: string, other: string): number {
  let before: number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const same = one[i - 1] === other[j - 1] ? 0 : 1;
      let steps = Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + same);
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) {
        steps = Math.min(steps, before[j - 2]! + 1);
      }
      next.push(steps);
    }
    [before, row] = [row, next];
  }
  return row[other.length]!;
}

/** A step changes two letters at most: names whose letters differ by more need not be compared letter by letter. */
function mayBeNear(one: string, other: string, limit: number): boolean {
  const counts = new Int8Array(128);
  for (let i = 0; i < one.length; i++) counts[one.charCodeAt(i)]! += 1;
  for (let i = 0; i < other.length; i++) counts[other.charCodeAt(i)]! -= 1;
  let differing = 0;
  for (const count of counts) differing += Math.abs(count);
  return differing <= 2 * limit;
}

/** Of short names one step makes another word; longer ones may differ by two. */
const mostSteps = (name: string): number => (name.length < 10 ? 1 : 2);
const longestName = 64;

/** The name that was probably meant; undefined where none is near. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (!/^[A-Z][A-Z0-9_]{3,}$/.test(name) || name.length > longestName) return undefined;
  const limit = mostSteps(name);
  let nearest: { readonly name: string; readonly steps: number } | undefined;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) > limit || !mayBeNear(name, candidate, limit)) continue;
    const steps = stepsBetween(name, candidate);
    if (steps <= limit && steps < (nearest?.steps ?? limit + 1)) nearest = { name: candidate, steps };
  }
  return nearest?.name;
}
