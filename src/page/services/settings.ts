/** The settings of the console, read once at the start. */
import { signal } from '@preact/signals';
import type { ConsoleSettings, ServiceName } from '../../console/api.ts';
import { askConsole } from './console.ts';

const read = signal<ConsoleSettings | undefined>(undefined);

export async function readSettings(): Promise<void> {
  read.value = await askConsole<ConsoleSettings>('GET', '/api/settings');
}

/** They are there before the first view is. */
export function settings(): ConsoleSettings {
  if (read.value === undefined) throw new Error('the settings are not read yet');
  return read.value;
}

/** The base address of a service; undefined where this console has none. */
export const serviceUrl = (name: ServiceName): string | undefined => settings().services[name];
