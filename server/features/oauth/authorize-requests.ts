/** The request of a program for consent. It comes from anywhere, so every part is judged. Source: OAuth 2.1 §4.1.1. */

import { destinationOf, isSameRedirect, redirectTo } from '../../base/redirects.ts'
import type { Access, Person } from '../../domain/actor.ts'
import { type Resource, requestedAccess, resourceIn } from '../../domain/oauth/scopes.ts'
import type { Ctx } from '../../domain/services.ts'
import { type Client, findClient } from './clients.ts'
import { ReturnedError, UnknownProgramError } from './errors.ts'

/** A valid request of a known program. */
export interface AuthorizeRequest {
  readonly issuer: string
  readonly client: Client
  /** The program has registered it. */
  readonly redirectUri: string
  readonly state: string | undefined
  /** SHA-256 of the program's verifier, in base64url. */
  readonly challenge: string
  readonly access: Access
  readonly resource: Resource
}

/** Parameters that a request may have once. It ignores all other parameters. */
export const requestParameters = [
  'client_id',
  'redirect_uri',
  'response_type',
  'code_challenge',
  'code_challenge_method',
  'scope',
  'state',
  'resource',
] as const

/** The most characters of parameters that do not have a stricter form. */
const longest = { state: 2_048, scope: 512, resource: 1_024 } as const

/** SHA-256 in base64url. */
const challengeForm = /^[\w-]{43}$/

interface JudgedParts {
  readonly issuer: string
  readonly sent: URLSearchParams
  /** Counts a fetch of the program's document, and refuses too many. */
  readonly countFetch: () => Promise<void>
}

/**
 * Judges a request. A known program gets errors back: at once on the user's computer, elsewhere by a link.
 *
 * @throws UnknownProgramError the program or its redirect URI is not known
 * @throws ReturnedError anything else is wrong
 */
export async function judgeRequest(
  ctx: Ctx<Person>,
  { issuer, sent, countFetch }: JudgedParts,
): Promise<AuthorizeRequest> {
  const repeated = requestParameters.find((name) => sent.getAll(name).length > 1)
  if (repeated !== undefined) throw new UnknownProgramError(`The request has the parameter ${repeated} more than once`)
  const parameter = (name: (typeof requestParameters)[number]) => sent.get(name) ?? undefined
  const client = await findClient(ctx, parameter('client_id') ?? '', countFetch)
  const redirectUri = parameter('redirect_uri')
  if (redirectUri === undefined || !client.redirectUris.some((uri) => isSameRedirect(uri, redirectUri)))
    throw new UnknownProgramError('The request has a redirect URI that the program has not registered')
  const state = parameter('state')
  const back = (code: ReturnedError['code'], message: string) =>
    new ReturnedError(code, message, {
      address: redirectTo(redirectUri, { error: code, state, iss: issuer }),
      isLoopback: destinationOf(redirectUri).isLoopback,
    })
  if ((state ?? '').length > longest.state)
    throw new UnknownProgramError(`The request has a state of more than ${longest.state} characters`)
  if (parameter('response_type') !== 'code') throw back('unsupported_response_type', 'response_type must be code')
  const challenge = parameter('code_challenge') ?? ''
  if (parameter('code_challenge_method') !== 'S256' || !challengeForm.test(challenge))
    throw back('invalid_request', 'The request needs code_challenge, with code_challenge_method=S256')
  const [scope, named] = [parameter('scope'), parameter('resource')]
  if ((scope ?? '').length > longest.scope) throw back('invalid_scope', 'The scope is too long')
  const resource = (named ?? '').length > longest.resource ? undefined : resourceIn(issuer, named)
  if (resource === undefined) throw back('invalid_target', `The resource must be ${issuer}/mcp or ${issuer}`)
  return { issuer, client, redirectUri, state, challenge, access: requestedAccess(scope), resource }
}

/** The address that says that the user has refused. */
export function deniedAddress({ redirectUri, state, issuer }: AuthorizeRequest): string {
  return redirectTo(redirectUri, { error: 'access_denied', state, iss: issuer })
}

/** The address with the code, for a user who has allowed the request. */
export function allowedAddress({ redirectUri, state, issuer }: AuthorizeRequest, code: string): string {
  return redirectTo(redirectUri, { code, state, iss: issuer })
}
