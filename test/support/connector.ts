/** A program that connects by OAuth, and the browser of its user. */

import { createHash, randomBytes } from 'node:crypto'
import { sendForm, type Visit, visitOf } from '../pages/forms.ts'
import { type Answer, type Client, client, type PersonClient } from './people.ts'

type Fields = Readonly<Record<string, string>>

/** The redirect URI of programs in tests. */
export const callback = 'http://127.0.0.1:7777/callback'

export interface Program {
  readonly grove: { readonly url: string }
  readonly id: string
  /** The parameters of a request for consent. */
  readonly request: Fields
  readonly verifier: string
}

/** Registers a program. */
export async function register(
  grove: { readonly url: string },
  { name = 'Robin', redirect = callback }: { readonly name?: string; readonly redirect?: string } = {},
): Promise<Program> {
  const { status, body } = await client(grove).post('/oauth/register', { client_name: name, redirect_uris: [redirect] })
  if (status !== 201) throw new Error(`The registration answered ${status} ${JSON.stringify(body)}`)
  const verifier = randomBytes(32).toString('base64url')
  const request = {
    client_id: body.client_id,
    redirect_uri: redirect,
    response_type: 'code',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state: 'of the program',
  }
  return { grove, id: body.client_id, request, verifier }
}

/** The address to which the page of an answer moves on. */
export function movesTo({ body }: Answer): URL | undefined {
  const [, content] = /<meta http-equiv="refresh" content="0; url=([^"]*)"/.exec(body) ?? []
  return content === undefined ? undefined : new URL(content.replaceAll('&amp;', '&').replaceAll('&quot;', '"'))
}

/** The choice of the user on the page. */
export interface Choice {
  readonly access?: 'read' | 'propose' | 'write'
  readonly org_id?: string
  readonly node_id?: string
}

/** Allows the request as the user, and returns the code. */
export async function allow(program: Program, user: Visit, choice: Choice = {}, more: Fields = {}): Promise<string> {
  const fields = { ...program.request, access: 'propose', ...choice, ...more, act: 'allow' }
  const answer = await user.send('/oauth/authorize', fields)
  const code = movesTo(answer)?.searchParams.get('code')
  if (!code) throw new Error(`The consent answered ${answer.status} ${answer.body}`)
  return code
}

export function askToken({ grove, id }: Program, fields: Fields, headers: Fields = {}): Promise<Answer> {
  return sendForm(grove, '/oauth/token', { client_id: id, ...fields }, headers)
}

export function exchange(program: Program, code: string, more: Fields = {}): Promise<Answer> {
  const { verifier, request } = program
  const fields = { grant_type: 'authorization_code', code, code_verifier: verifier }
  return askToken(program, { ...fields, redirect_uri: request.redirect_uri ?? '', ...more })
}

export function renew(
  program: Program,
  refresh_token: string,
  more: Fields = {},
  headers: Fields = {},
): Promise<Answer> {
  return askToken(program, { grant_type: 'refresh_token', refresh_token, ...more }, headers)
}

export interface Connected extends Client {
  readonly program: Program
  /** The id of the connection. */
  readonly id: string
  readonly token: string
  readonly refreshToken: string
  readonly scope: string
}

interface Connecting {
  readonly resource?: 'api' | 'mcp'
  readonly name?: string
  /** The headers of the user's browser. */
  readonly headers?: Fields
}

/** Connects a program for a user, by default to the API. */
export async function connectProgram(
  grove: { readonly url: string },
  person: PersonClient,
  { resource = 'api', name = 'Robin', headers = {}, ...choice }: Choice & Connecting = {},
): Promise<Connected> {
  const program = await register(grove, { name })
  const metadata = `/.well-known/oauth-protected-resource${resource === 'mcp' ? '/mcp' : ''}`
  const more = { scope: 'write', resource: (await client(grove).get(metadata)).body.resource }
  const code = await allow(program, await visitOf(grove, person, headers), choice, more)
  const { status, body } = await exchange(program, code)
  if (status !== 200) throw new Error(`The exchange answered ${status} ${JSON.stringify(body)}`)
  const [newest] = (await person.get('/auth/connections?limit=1')).body.connections
  const { access_token: token, refresh_token: refreshToken, scope } = body
  return { ...client(grove, token), program, id: newest.id, token, refreshToken, scope }
}
