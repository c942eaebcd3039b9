/** The state of a request while it is answered. All steps share the one object. */

import type { Request } from 'express'
import type { TokenScope } from '../domain/accounts/access-tokens.ts'
import type { Actor } from '../domain/actor.ts'
import type { Door } from '../domain/origin.ts'
import type { Operation, PathMatch } from './contract/spec.ts'

export interface RequestState {
  /** The client's `X-Request-Id` if it is valid, else a new id. Set by the request log. */
  id: string
  /** The part of the service that it uses. */
  door: Door
  /** Notes for the request's line in the log. */
  notes: RequestNotes
  /** Undefined until the operation is known. */
  context: Context | undefined
  /** The turn of the event loop in which the credential was checked. Absent without a body. */
  authenticatedIn: number | undefined
  /** The body as sent, if it holds free JSON. */
  bodyText: string | undefined
  /** Shows an error as a page; undefined: errors are JSON. */
  errorPage: ErrorPage | undefined
  /** Returns the response that shows a Git client why its push is refused. Absent for other requests. */
  pushReport: ((reason: string) => Promise<Buffer>) | undefined
  /** True if the rate limit has counted the request. */
  isCounted: boolean
  /** True if the response must not be compressed again. */
  isPacked: boolean
}

export interface Context {
  readonly operation: Operation
  readonly match: PathMatch
  readonly actor: Actor
  /** The scope of a personal access token or a connection. */
  readonly scope?: TokenScope
  /** When the token expires, in milliseconds since 1970. Absent: only its session ends. */
  readonly expiresAt?: number
}

/** Ids, codes and times. Never an e-mail address, the text of a query or the name of a file. */
export interface RequestNotes {
  /**
   * The operation of the spec, or another name. The names are `info-refs`, `git-upload-pack`, `git-receive-pack`,
   * `git-lfs`, `page`, `asset`, `mcp`, `mcp-` and a tool, `oauth-token`, `oauth-revoke`, `oauth-register`, `events-stream`, and
   * `forwarded` to another cell.
   */
  readonly op?: string
  /** Ids of the organisation and the node in the path. */
  readonly org?: string
  readonly node?: string
  /** The cell to which it was forwarded. */
  readonly cell?: string
  /** The id of the account. */
  readonly actor?: string
  /** The id of the personal access token. It is not called `token`, which the log hides. */
  readonly token_id?: string
  /** The door: see Door. */
  readonly via?: string
  /** The program: `agent:` and a name, the host of its URL, or `dcr`. */
  readonly client?: string
  /** The id of the connection. */
  readonly grant_id?: string
  /** Milliseconds of waiting for a Git process or the password queue. */
  readonly wait_ms?: number
  /** The code of a refusal. */
  readonly code?: string
  /** The reasons why refs of a push were refused. */
  readonly refused?: readonly string[]
}

/** An error as a page shows it. */
export interface ShownError {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly request_id: string
}

export type ErrorPage = (error: ShownError) => void

const key = Symbol('request state')

interface Carrier extends Request {
  [key]?: RequestState
}

export function stateOf(req: Carrier): RequestState {
  req[key] ??= {
    id: '',
    door: 'rest',
    notes: {},
    context: undefined,
    authenticatedIn: undefined,
    bodyText: undefined,
    errorPage: undefined,
    pushReport: undefined,
    isCounted: false,
    isPacked: false,
  }
  return req[key]
}

/** Gives a derived request its own state, which begins as a copy. */
export function forkState(derived: Carrier): void {
  derived[key] = { ...stateOf(derived) }
}
