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
