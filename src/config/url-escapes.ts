/** Names and passwords in a URL are read without their escapes: a percent sign that begins none could not be read. */
export function checkEscapes(url: string): void {
  try {
    decodeURIComponent(url);
  } catch {
    throw new Error('must be a URL in which each % begins an escape, as %25 for itself');
  }
}
