/**
 * Every word that people read, in one place: a second language is a second object of this shape. Texts with something
 * in them are functions. Each section has its own part.
 */
export const texts = {
  product: 'Turnpike',
  sections: {
    home: 'Home',
    explorer: 'Explorer',
    wallet: 'Wallet',
    upload: 'Upload',
    names: 'Names',
    operator: 'Operator',
    local: 'Local network',
  },
  shell: {
    skip: 'Skip to content',
    loading: 'Loading',
    failedToLoad: 'This page could not be loaded.',
  },
  kit: {
    /** Of numbers and dates, as the language of the texts writes them. */
    locale: 'en',
    bytes: (count: number) => (count === 1 ? '1 byte' : `${count} bytes`),
    oneCredit: '1 credit',
    credits: (amount: string) => `${amount} credits`,
    justNow: 'just now',
    loading: 'Loading',
    copy: (what: string) => `Copy ${what}`,
    copied: (what: string) => `Copied ${what}`,
    copyFailed: 'The browser did not let this page copy. Select the text and copy it yourself.',
    somethingFailed: 'Something went wrong',
    tryAgain: 'Try again',
    stale: 'This is the last state known.',
    noRows: 'Nothing here yet',
    close: 'Close',
    cancel: 'Cancel',
    notices: 'Messages',
    showNotice: 'Show',
    scrollable: (caption: string) => `${caption}, scrolls sideways`,
    rows: (count: string) => `${count} rows`,
    steps: {
      done: 'Done',
      now: 'In progress',
      waiting: 'Not yet',
      failed: 'Failed',
    },
    showAsTable: 'Show as table',
    showAsChart: 'Show as chart',
    noPoints: 'No figures yet',
    time: 'Time',
    seriesSummary: (label: string, last: string, lowest: string, highest: string) =>
      `${label}: now ${last}, lowest ${lowest}, highest ${highest}.`,
    moreEntries: (count: string) => `${count} more`,
    entries: (count: string) => `${count} entries`,
    properties: (count: string) => `${count} properties`,
    showMore: 'Show more',
    notANumber: 'Write a number.',
    optional: 'optional',
    id: 'id',
    code: 'code',
  },
  home: {},
  explorer: {},
  wallet: {
    refused: 'You said no in your wallet. Nothing was done; you can try again.',
    alreadyAsking: 'Your wallet is already asking you something. Open it, answer, and try again.',
    failedWithoutWords:
      'The wallet gave up without saying why. Open it, see whether it is unlocked, and try again.',
    lacks: (name: string, method: string) =>
      `${name} cannot do this: it has no “${method}”. Choose another wallet, or make a key in this browser.`,
    cannotSend: (token: string) => `This wallet cannot send ${token}.`,
    notASignature: (name: string) =>
      `${name} answered something that is no signature of what it was asked to sign.`,
    noAccount: (name: string) =>
      `${name} gave access to no account. Open it, choose an account, and try again.`,
    keyIsGone: 'This browser does not have the key any more.',
    localLabel: (number: number) => `Local wallet ${number}`,
    madeLabel: 'Key in this browser',
  },
  upload: {},
  names: {},
  operator: {},
  local: {},
} as const;
