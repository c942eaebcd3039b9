/** Consents of users to programs, as their page sees them. */

import type { Request, Response } from 'express'
import type { NewCounter } from '../base/counters.ts'
import type { Person } from '../domain/actor.ts'
import type { Consent, Resource } from '../domain/oauth/scopes.ts'
import type { Services } from '../domain/services.ts'

/** A request for consent. `unknown`: no program is known, so nothing leads back. `wrong`: an error may go back. */
type JudgedConsent =
  | { readonly kind: 'unknown'; readonly detail: string }
  | { readonly kind: 'wrong'; readonly detail: string; readonly address: string; readonly isLoopback: boolean }
  | AskedConsent

export interface AskedConsent {
  readonly kind: 'asked'
  readonly name: string
  /** The host that vouches for the program. Undefined: none does. */
  readonly host: string | undefined
  /** Where the answer goes. */
  readonly destination: { readonly isLoopback: boolean; readonly host: string }
  readonly access: Consent['access']
  readonly resource: Resource
  /** When the user last connected the program. */
  readonly lastConnected: string | undefined
  /** The fields of the request, which the form sends again. */
  readonly fields: readonly (readonly [string, string])[]
  /** Connects the program, and returns the address with the code. @throws AppError, ValidationError */
  allow(consent: Consent): Promise<string>
  /** The address for a user who has refused. */
  readonly denied: string
}

export interface Consents {
  /** False: connections by OAuth are off. */
  readonly areOn: boolean
  /** Judges a request for the user. @throws RateLimitedError */
  judge(sent: URLSearchParams): Promise<JudgedConsent>
}

/** Creates the function that returns the consents of a visit. @param newSharedCounter undefined: no limits */
export type ConsentsFor = (
  deps: Services,
  newSharedCounter: NewCounter | undefined,
) => (req: Request, res: Response, person: Person | undefined) => Consents
