/** Somebody who deals with the services of this installation. */
import { Person, type PersonOptions } from '../person.ts';
import type { PaymentInstallation } from './installation.ts';

export interface CustomerOptions extends PersonOptions {
  readonly installation: PaymentInstallation;
  /** The service is restored from backups at times, and does not know what it said since. */
  readonly forgets: boolean;
}

export class Customer extends Person {
  readonly installation: PaymentInstallation;
  readonly forgets: boolean;

  constructor(options: CustomerOptions) {
    super(options);
    this.installation = options.installation;
    this.forgets = options.forgets;
  }

  /** Any of the service's addresses. */
  payment(): string {
    const { processes, balancerUrl } = this.installation;
    return this.random.below(3) === 0 ? balancerUrl : this.random.pick(processes).paymentUrl;
  }

  upload(): string {
    return this.random.pick(this.installation.processes).uploadUrl;
  }
}
