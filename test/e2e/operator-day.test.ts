import { operatorDay } from '../support/operator-day.ts';

operatorDay('a day of an operator on SQLite', async () => ({ settings: {}, restore: async () => ({}) }));
