/** The author, the time and the way of a change that a user makes. */

import type { Person } from '../actor.ts'
import { authorOf } from '../format/signatures.ts'
import type { Services } from '../services.ts'
import { recordedVia } from '../via.ts'
import type { ChangedBy } from './reconcile.ts'

/** `via` is undefined for a session. It then replaces that of the event before. */
export function changedBy(deps: Pick<Services, 'now' | 'origin'>, actor: Person): ChangedBy {
  return { by: authorOf(actor), at: deps.now().toISOString(), via: recordedVia(deps, actor) }
}
