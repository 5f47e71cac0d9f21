/** The services where they listen: whether they run and are well. */
import { reasonsIn, strictHealthPaths } from '../health-answers.ts';
import { reasonOf } from '../service-client.ts';
import { serviceUrl } from '../service-url.ts';
import { type Finding, ok, wrong } from './finding.ts';
import { type Patient, type ServiceName, serviceNames } from './patient.ts';

/** What a balancer should ask, too. */
const healthPaths: Readonly<Record<ServiceName, string>> = { ...strictHealthPaths, router: '/router/ready' };

export async function lookAtServices(patient: Patient): Promise<Finding[]> {
  const started = serviceNames.filter((name) => patient.surfaces.includes(name));
  const found = await Promise.all(started.map((name) => lookAtService(patient, name)));
  return found.flat();
}

async function lookAtService({ config, view }: Patient, name: ServiceName): Promise<Finding[]> {
  const url = serviceUrl(config, name);
  try {
    const { status, body } = await view.http.call(`${url}${healthPaths[name]}`, {
      headers: { accept: 'application/json' },
    });
    if (status < 400) return [ok(`the ${name} at ${url} is well`)];
    const told = reasonsIn(String(body));
    const reasons = told.length > 0 ? told : [`it answers ${status}`];
    return reasons.map((reason) =>
      wrong(`the ${name} is not well: ${reason}`, 'see its log and docs/production.md'),
    );
  } catch (error) {
    const what = `the ${name} does not answer at ${url} (${reasonOf(error)})`;
    return [wrong(what, `start it ("turnpike start ${name}"), or look at its log`)];
  }
}
