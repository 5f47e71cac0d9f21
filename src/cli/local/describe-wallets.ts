/** The wallets of the local network as the start prints them. */
import type { LocalWallets } from '../../wallets/local-wallets.ts';
import { type CoinName, coins } from './coins.ts';
import { firstMoney } from './furnish.ts';

export function describeWallets({ arweave, ethereum, solana, mnemonic }: LocalWallets): string {
  const kinds = [
    { title: `Arweave wallets (${amounts('ar', 'credits')})`, wallets: arweave },
    { title: `Ethereum wallets (${amounts('usdc', 'credits')})`, wallets: ethereum },
    { title: `Solana wallets (${amounts('sol', 'ario', 'credits')})`, wallets: solana },
  ];
  return [
    ...kinds.flatMap(({ title, wallets }) =>
      section(
        title,
        wallets.map(({ address }) => address),
      ),
    ),
    ...section(
      'Ethereum keys',
      ethereum.map(({ privateKey }) => privateKey),
    ),
    ...section(
      'Solana keys',
      solana.map(({ secretKey }) => secretKey),
    ),
    'Arweave keys',
    '  turnpike wallets arweave 0 > key.json',
    '',
    `Mnemonic of the Ethereum (m/44'/60'/0'/0/n) and Solana (m/44'/501'/n'/0') keys`,
    `  ${mnemonic}`,
    '',
    'Everybody knows these keys: never send real money to these addresses.',
  ].join('\n');
}

function section(title: string, lines: readonly string[]): string[] {
  return [title, ...lines.map((line, index) => `  (${index}) ${line}`), ''];
}

const amounts = (...names: readonly CoinName[]): string =>
  names.map((name) => `${firstMoney[name].toLocaleString('en')} ${coins[name].label}`).join(', ');
