/** What a program that is started is told of the environment: where things are, and never a key. Imports nothing. */
const passedOn = [
  'PATH',
  'HOME',
  'USER',
  'LANG',
  'LC_ALL',
  'TZ',
  'TMPDIR',
  'XDG_CONFIG_HOME',
  'XDG_CACHE_HOME',
  // As Windows names them.
  'SystemRoot',
  'USERPROFILE',
  'LOCALAPPDATA',
  'APPDATA',
  'TEMP',
  'TMP',
];

export function childEnvironment(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string | undefined> {
  return Object.fromEntries(passedOn.map((name) => [name, environment[name]]));
}

/** Those of the variables that the operator has not set. */
export function unlessSet(
  variables: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  return Object.fromEntries(Object.entries(variables).filter(([name]) => environment[name] === undefined));
}
