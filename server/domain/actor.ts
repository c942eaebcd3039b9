/** The caller of a use case. */

export interface Person {
  readonly kind: 'person'
  readonly id: string
  /** As Git has it: the account's, or one that receives no mail where the person hides theirs. */
  readonly email: string
  readonly name: string
  /** Manages accounts; gives no access to content. */
  readonly isAdmin: boolean
  /** The session of the request; absent with a personal access token. */
  readonly sessionId?: string
  /** The personal access token of the request; absent with the access token of a session. */
  readonly tokenId?: string
  /** The only node that this token reaches. Of others it learns no title, and no id that the node's own files do not have. */
  readonly onlyNode?: string
}

export interface Anonymous {
  readonly kind: 'anonymous'
}

/** The operator, who runs a command on the data folder: has no account, and needs no role. */
export interface Operator {
  readonly kind: 'operator'
  readonly name: string
  readonly email: string
}

export type Actor = Person | Anonymous

/** Who asks, and until when they wait. */
export interface RequestContext<A extends Actor = Actor> {
  readonly actor: A
  /** Aborted with `ClientDisconnectedError` when the client disconnects. */
  readonly signal: AbortSignal
  /** The network address, as trusted proxies report it. */
  readonly from: string
}

/** A caller as limits count them: one of these has a share of what a process can do. */
export interface Caller {
  /** A person, or the address of an anonymous caller. */
  readonly key: string
  readonly isAnonymous: boolean
}

export function callerOf({ actor, from }: Pick<RequestContext, 'actor' | 'from'>): Caller {
  return actor.kind === 'person'
    ? { key: `person ${actor.id}`, isAnonymous: false }
    : { key: `address ${from}`, isAnonymous: true }
}

export const anonymous: Anonymous = { kind: 'anonymous' }

/** As commits of org.git have it. */
export const operator: Operator = { kind: 'operator', name: 'operator', email: 'operator@grove.invalid' }
