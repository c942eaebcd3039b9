/** The caller of a use case. */

/** The levels of access to content. Each includes those before it. */
const accessLevels = ['read', 'propose', 'write'] as const

/** `read` changes nothing. `propose` changes branches below `agent/`, and opens pull requests. `write`: all. */
export type Access = (typeof accessLevels)[number]

/** True if `access` includes the rights of `needed`. */
export function includesAccess(access: Access, needed: Access): boolean {
  return accessLevels.indexOf(access) >= accessLevels.indexOf(needed)
}

/** A program that a user has allowed to act for them, by OAuth. */
interface Connection {
  /** UUID v7. */
  readonly id: string
  /** The client's id: the URL of its metadata document, or `dcr.` and its metadata. */
  readonly clientId: string
  readonly clientName: string
}

export interface Person {
  readonly kind: 'person'
  readonly id: string
  /** The e-mail address for Git. If the user hides theirs, it receives no mail. */
  readonly email: string
  readonly name: string
  /** May manage accounts. Gives no access to content. */
  readonly isAdmin: boolean
  /** True for an account that an organisation owns. It has no session. */
  readonly isBot?: true
  /** The session of the request. Absent with a personal access token. */
  readonly sessionId?: string
  /** The personal access token of the request. Absent with the access token of a session. */
  readonly tokenId?: string
  /** The connection of the request. Absent with a token or a session. */
  readonly connection?: Connection
  /** The access of the credential. Absent for a session, which may do everything that the user may. */
  readonly access?: Access
  /**
   * The only node that this token reaches. It shows no title of another node, and no id that is not in this node's
   * files.
   */
  readonly onlyNode?: string
}

export interface Anonymous {
  readonly kind: 'anonymous'
}

/** The operator, who runs a command on the data folder. Has no account, and needs no role. */
export interface Operator {
  readonly kind: 'operator'
  readonly name: string
  readonly email: string
}

export type Actor = Person | Anonymous

/** The part of a request that its use case needs. */
export interface RequestFacts {
  /** The caller's network, as trusted proxies report it. */
  readonly from: string
  /** The header `User-Agent`. */
  readonly userAgent?: string
  /** The service's base URL as the caller reaches it, without a trailing slash. */
  readonly base: string
  /** Aborted with `ClientDisconnectedError` when the client disconnects. */
  readonly signal: AbortSignal
}

/** The caller of a request, and the request. */
export interface RequestContext<A extends Actor = Actor> {
  readonly actor: A
  readonly request: RequestFacts
}

/** A caller, as limits count them. Each has a share of what a process can do. */
export interface Caller {
  /** A user, or the IP address of an anonymous caller. */
  readonly key: string
  readonly isAnonymous: boolean
}

interface OnlyFrom {
  readonly actor: Actor
  readonly request: Pick<RequestFacts, 'from'>
}

export function callerOf({ actor, request: { from } }: OnlyFrom): Caller {
  return actor.kind === 'person'
    ? { key: `person ${actor.id}`, isAnonymous: false }
    : { key: `address ${from}`, isAnonymous: true }
}

export const anonymous: Anonymous = { kind: 'anonymous' }

/** The author of the operator's commits in org.git. */
/** The service, which ends what has been left for long. */
export const service = { kind: 'service', name: 'Grove', email: 'service@grove.invalid' } as const

export const operator: Operator = { kind: 'operator', name: 'operator', email: 'operator@grove.invalid' }
