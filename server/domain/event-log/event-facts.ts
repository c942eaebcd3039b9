/** An event before it is recorded, and who did it. */

import type { EventType } from '../../base/event-types.ts'
import type { Door } from '../origin.ts'
import type { Via } from '../via.ts'

/** Who did it. The name is empty after the account was deleted. */
export interface EventActor {
  readonly kind: 'user' | 'operator' | 'service'
  /** The user id. Absent if only a name is known. */
  readonly id?: string
  readonly name: string
}

/** How it came about. `path`: a ref was moved in the folder, without the service. */
type EventDoor = Door | 'path'

/** The program that did it. Anyone may read events of published organisations, so it has no id of a credential. */
type EventProgram = Omit<Via, 'id'>

/** An event before it has a place in the log. */
export interface EventFacts {
  readonly type: EventType
  /** Together with the organisation, the node and the type, makes the id. The same key is the same event. */
  readonly key: string
  /** ISO 8601. */
  readonly at: string
  readonly actor?: EventActor
  readonly via?: EventDoor
  /** Absent for a user, and for a script with a token of its user. */
  readonly program?: EventProgram
  /** How the request came, as JSON. It is stored next to the event, and only the audit shows it. */
  readonly origin?: string
  /** The id of the change set that it comes from. Its pages are recorded together. */
  readonly mergedWith?: string
  /** The number of the change set that it is about. */
  readonly set?: number
  /** Ids, names and object ids. Never a text that can be erased, and never an e-mail address. */
  readonly data: Readonly<Record<string, unknown>>
}
