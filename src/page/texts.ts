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
  wallet: {},
  upload: {},
  names: {},
  operator: {},
  local: {},
} as const;
