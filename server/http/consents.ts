/** Consents of users to programs, for the page that asks for them. */

import type { Request, Response } from 'express'
import type { Limit, NewCounter } from '../base/counters.ts'
import { AppError } from '../base/errors.ts'
import { destinationOf } from '../base/redirects.ts'
import type { Person } from '../domain/actor.ts'
import {
  type AuthorizeRequest,
  allowedAddress,
  deniedAddress,
  judgeRequest,
  requestParameters,
} from '../domain/oauth/authorize-requests.ts'
import { type Consent, connect, lastConnected } from '../domain/oauth/connections.ts'
import { ReturnedError, UnknownProgramError } from '../domain/oauth/errors.ts'
import { issuerOf } from '../domain/oauth/issuer.ts'
import type { Ctx, Services } from '../domain/services.ts'
import { baseUrl } from './connection/base-url.ts'
import { originOf } from './origin.ts'
import { takeFrom } from './rate-limits.ts'

/** Consents of a user, shown and given. */
const perUser: Limit = { name: 'consents', quota: 30, windowSeconds: 60 }

/** Fetches of documents of programs, for a user. */
const perFetcher: Limit = { name: 'documents', quota: 20, windowSeconds: 60 }

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
  readonly resource: 'api' | 'mcp'
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
export function consentsFor(deps: Services, newSharedCounter: NewCounter | undefined) {
  const counter = newSharedCounter?.('consents', perUser)
  const fetches = newSharedCounter?.('documents', perFetcher)
  return (req: Request, res: Response, person: Person | undefined): Consents => {
    const issuer = issuerOf(deps, baseUrl(deps.config.publicUrl, req))
    const seen: Services = { ...deps, origin: originOf(req, 'page') }
    return {
      areOn: issuer !== undefined,
      judge: async (sent) => {
        if (issuer === undefined || person?.sessionId === undefined)
          throw new AppError('forbidden', 'Only a user who is signed in can connect a program')
        if (counter !== undefined) await takeFrom(counter, person.id, res)
        const countFetch = async () => {
          if (fetches !== undefined) await takeFrom(fetches, person.id, res)
        }
        try {
          const request = await judgeRequest({ ...seen, actor: person }, { issuer, sent, countFetch })
          return await askedOf({ ...seen, actor: person }, request, sent)
        } catch (error) {
          if (error instanceof UnknownProgramError) return { kind: 'unknown', detail: error.message }
          if (error instanceof ReturnedError) {
            const { message: detail, address, isLoopback } = error
            return { kind: 'wrong', detail, address, isLoopback }
          }
          throw error
        }
      },
    }
  }
}

async function askedOf(ctx: Ctx<Person>, request: AuthorizeRequest, sent: URLSearchParams): Promise<AskedConsent> {
  const { client, redirectUri, access, resource } = request
  const fields = requestParameters.flatMap((name): [string, string][] => {
    const value = sent.get(name)
    return value === null ? [] : [[name, value]]
  })
  return {
    kind: 'asked',
    name: client.name,
    host: client.host,
    destination: destinationOf(redirectUri),
    access,
    resource,
    lastConnected: await lastConnected(ctx, client),
    fields,
    allow: async (consent) => allowedAddress(request, await connect(ctx, request, consent)),
    denied: deniedAddress(request),
  }
}
