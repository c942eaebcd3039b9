/** The manifest of a feature: all that the rest of the server knows of it. */
import type { RequestHandler } from 'express'
import type { NewCounter } from '../base/counters.ts'
import type { Job } from '../domain/background/sweep.ts'
import type { OldestNeeded } from '../domain/events/retention.ts'
import type { Letters } from '../domain/mail/sender.ts'
import type { Services } from '../domain/services.ts'
import type { ConsentsFor } from '../http/consents.ts'
import type { Handlers } from '../http/contract/operations.ts'
import type { CountRequest } from '../http/rate-limits.ts'
import type { PageRoute } from '../pages/pages.ts'

interface EndpointLimits {
  readonly countRequest: CountRequest
  /** Undefined: no rate limits. */
  readonly newSharedCounter: NewCounter | undefined
}

export interface Feature {
  /** The use cases of its operations, by `operationId`. */
  readonly operations?: Partial<Handlers>
  /** Creates the handler of its requests outside the spec. */
  readonly endpoints?: (deps: Services, limits: EndpointLimits) => RequestHandler
  readonly pages?: readonly PageRoute[]
  /** The consents that a page shows. */
  readonly consents?: ConsentsFor
  /** Returns the recurring jobs of a service. */
  readonly jobs?: () => readonly Job[]
  /** Loops of a service that end when it drains. */
  readonly loops?: readonly ((deps: Services) => Promise<void>)[]
  /** The writers of its mails. */
  readonly letters?: Partial<Letters>
  /** Sets its metrics of the data folder. */
  readonly gauges?: (deps: Services) => Promise<void>
  /** Keeps events that it has not handled. */
  readonly oldestNeeded?: OldestNeeded
}
