import type { Limit } from '../../../base/counters.ts'
import { AppError } from '../../../base/errors.ts'
import { destinationOf } from '../../../base/redirects.ts'
import type { Person } from '../../../domain/actor.ts'
import { issuerOf } from '../../../domain/oauth/issuer.ts'
import type { Ctx, Services } from '../../../domain/services.ts'
import { baseUrl } from '../../../http/connection/base-url.ts'
import type { AskedConsent, ConsentsFor } from '../../../http/consents.ts'
import { originOf } from '../../../http/origin.ts'
import { takeFrom } from '../../../http/rate-limits.ts'
import {
  type AuthorizeRequest,
  allowedAddress,
  deniedAddress,
  judgeRequest,
  requestParameters,
} from '../authorize-requests.ts'
import { connect, lastConnected } from '../connections.ts'
import { ReturnedError, UnknownProgramError } from '../errors.ts'

/** Consents of a user, shown and given. */
const perUser: Limit = { name: 'consents', quota: 30, windowSeconds: 60 }

/** Fetches of documents of programs, for a user. */
const perFetcher: Limit = { name: 'documents', quota: 20, windowSeconds: 60 }

export const consentsFor: ConsentsFor = (deps, newSharedCounter) => {
  const counter = newSharedCounter?.('consents', perUser)
  const fetches = newSharedCounter?.('documents', perFetcher)
  return (req, res, person) => {
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
