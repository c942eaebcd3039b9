/** The manifest of a feature: all that the rest of the server knows of it. */
import type { Job } from '../domain/background/sweep.ts'
import type { Letters } from '../domain/mail/sender.ts'
import type { Handlers } from '../http/contract/operations.ts'
import type { PageRoute } from '../pages/pages.ts'

export interface Feature {
  /** The use cases of its operations, by `operationId`. */
  readonly operations?: Partial<Handlers>
  readonly pages?: readonly PageRoute[]
  /** Returns the recurring jobs of a service. */
  readonly jobs?: () => readonly Job[]
  /** The writers of its mails. */
  readonly letters?: Partial<Letters>
}
