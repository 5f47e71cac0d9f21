import { list, text, url } from '../kinds.ts';

export const webConsole = {
  CONSOLE_HOST: text({ meaning: 'Address that the console binds', default: '127.0.0.1' }),
  CONSOLE_HOSTS: list({
    meaning: 'Host names, without port, under which browsers reach the console besides those of loopback',
    default: [],
  }),
  PAYMENT_URL: url({
    meaning:
      'Payment service that the console is for; without it the one of this process, else HOST and PAYMENT_PORT',
    default: undefined,
  }),
  ROUTER_URL: url({
    meaning: 'Router that the console is for; without it the one of this process, else HOST and PORT',
    default: undefined,
  }),
  ROUTER_ADMIN_URL: url({
    meaning:
      'Admin page of that router; without it the one of this process, else ADMIN_HOST and ADMIN_PORT where ROUTER_URL is not set',
    default: undefined,
  }),
};
