/** What middleware and handlers find out about a request for its line in the log. */

import type { Request } from 'express'
import type { Credential } from '../../domain/accounts/access-tokens.ts'
import { isId } from '../../domain/layout.ts'

/** Ids, codes and times; never an e-mail address, the text of a query or the name of a file. */
export interface RequestNotes {
  /** The operation of the spec, or `info-refs`, `git-upload-pack`, `git-receive-pack`, `git-lfs`; `page`, `asset`; `mcp`, `mcp-` and a tool; `forwarded` to another cell. */
  readonly op?: string
  /** Ids of the organisation and the node in the path. */
  readonly org?: string
  readonly node?: string
  /** The cell to which it was passed on. */
  readonly cell?: string
  /** The id of the account. */
  readonly actor?: string
  /** The id of the personal access token. Not `token`, which the log hides. */
  readonly token_id?: string
  /** Milliseconds of waiting for a git or for the password queue. */
  readonly wait_ms?: number
  /** The code of a refusal. */
  readonly code?: string
  /** Why refs of a push were refused. */
  readonly refused?: readonly string[]
}

const key = Symbol('request notes')

interface Carrier extends Request {
  [key]?: RequestNotes
}

export function note(req: Carrier, notes: RequestNotes): void {
  req[key] = { ...req[key], ...notes }
}

/** Notes the ids in a path. Other text in their place may be anything and is left out. */
export function noteIds(req: Carrier, org: string | undefined, node: string | undefined): void {
  const ids = {
    ...(org !== undefined && isId(org) ? { org } : {}),
    ...(node !== undefined && isId(node) ? { node } : {}),
  }
  note(req, ids)
}

export function noteCaller(req: Carrier, { person: { id, tokenId } }: Credential): void {
  note(req, { actor: id, ...(tokenId === undefined ? {} : { token_id: tokenId }) })
}

/** Adds to the time that the request has waited. */
export function noteWait(req: Carrier, ms: number): void {
  note(req, { wait_ms: (req[key]?.wait_ms ?? 0) + ms })
}

export function notesOf(req: Carrier): RequestNotes {
  return req[key] ?? {}
}
