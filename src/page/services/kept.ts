/**
 * What the console keeps in this browser (IndexedDB): a table of values by name in each store. Whatever structured cloning
 * takes can be kept, among it keys that no script can read.
 */

export interface Kept<T> {
  get(key: string): Promise<T | undefined>;
  put(key: string, value: T): Promise<void>;
  delete(key: string): Promise<void>;
  /** In the order of their keys. */
  all(): Promise<T[]>;
}

const databaseName = 'turnpike';
const table = 'kept';
let opening: Promise<IDBDatabase> | undefined;

/** Stores need no setting up: a store is a first part of the key. */
export function kept<T>(store: string): Kept<T> {
  return {
    get: (key) => ask<T | undefined>('readonly', (values) => values.get([store, key])),
    put: async (key, value) => {
      await ask('readwrite', (values) => values.put(value, [store, key]));
    },
    delete: async (key) => {
      await ask('readwrite', (values) => values.delete([store, key]));
    },
    // An array sorts behind every text.
    all: () => ask<T[]>('readonly', (values) => values.getAll(IDBKeyRange.bound([store], [store, []]))),
  };
}

/** Answers when the transaction is done, so that what was put is there after a crash too. */
async function ask<T>(
  mode: IDBTransactionMode,
  request: (values: IDBObjectStore) => { readonly result: unknown },
): Promise<T> {
  const transaction = (await database()).transaction(table, mode, { durability: 'strict' });
  const asked = request(transaction.objectStore(table));
  await new Promise<void>((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onerror = () => reject(transaction.error);
    transaction.onabort = () => reject(transaction.error);
  });
  return asked.result as T;
}

function database(): Promise<IDBDatabase> {
  opening ??= new Promise<IDBDatabase>((resolve, reject) => {
    const request = indexedDB.open(databaseName, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(table);
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      // The browser may close it, for example when the person deletes what sites have stored.
      request.result.onclose = () => {
        opening = undefined;
      };
      resolve(request.result);
    };
  }).catch((error: unknown) => {
    opening = undefined;
    throw error;
  });
  return opening;
}
