/**
 * Lower case of A to Z alone. Names, hosts and codes are ASCII, and Unicode's lower case of some other letters is an
 * ASCII one (U+212A, the Kelvin sign, becomes a k): what a rule then reads is not what was written.
 */
export const asciiLowerCase = (text: string): string =>
  // Most texts are lower case already, and to look costs less than to replace nothing.
  /[A-Z]/.test(text) ? text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text;
