/** The inputs that fuzzing keeps for every route, sent to one local network. */
import { replay } from '../fuzz/replay.ts';
import { allTargets, routesFile } from '../fuzz/targets.ts';

replay((await allTargets()).filter(({ file }) => file === routesFile));
