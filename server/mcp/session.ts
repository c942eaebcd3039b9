/** The session of a caller: the API in that user's name, and the token's scope. */

import type { Api, Output } from '../../spec/client/api.ts'
import { Urls } from '../pages/urls.ts'
import { own } from './quoted.ts'

/** The access of a token. Each level includes those before it: `read`, `propose`, `write`. */
export type Access = Output<'createToken'>['access']

/** Facts about a refusal by the API, or a fault, that a caller may know. */
export interface RefusalFacts {
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number
  readonly code: string
  readonly message: string
  /** True if this program wrote the whole message, and the service none of it. */
  readonly isOwn?: boolean | undefined
  /** The invalid fields or files. */
  readonly problems: readonly {
    readonly loc: readonly (string | number)[]
    readonly msg: string
    readonly ctx?: Readonly<Record<string, unknown>>
  }[]
  /** With `head_moved`: the current commit of the branch. */
  readonly currentHead?: string | undefined
  /** With `pull_request_exists`: the number of the open pull request. */
  readonly number?: number | undefined
  /** With `comment_exists`: the number of the comment. */
  readonly entry?: number | undefined
  /** With `forbidden` and `token_scope`: the prefix of the only branches that the caller may change. */
  readonly branchPrefix?: string | undefined
  /** With `token_scope`: the only organisation that the token reaches. */
  readonly tokenOrgId?: string | undefined
}

/** The caller. `key` is the same in each session of the user, or of the token. */
export interface Caller {
  readonly key: string
  readonly userId?: string
}

export interface Session {
  readonly api: Api
  /** The URL of the service, without a trailing slash. */
  readonly base: string
  readonly access: Access
  /** The only organisation that the token reaches, if one is known. */
  readonly orgId?: string | undefined
  /** The only node that the token reaches, if one is known. */
  readonly nodeId?: string | undefined
  /** Finds the ids that limit the token. Set only if the service was not reached at the start. @throws GroveError */
  findScope?(): Promise<Pick<Session, 'orgId' | 'nodeId'>>
  caller(): Promise<Caller>
  factsOf(error: unknown): RefusalFacts
  /** Records that a call has ended with this error. */
  ends(error: unknown): void
  /** Records a call before the tool runs. The ids are unchecked. */
  calls(tool: string, ids: { readonly org?: string | undefined; readonly node?: string | undefined }): void
}

/** Returns the source that an answer names: the node, and the commit that was read. */
export function sourceOf(orgId: string, nodeId: string, commit?: string): string {
  return `grove://${orgId}/${nodeId}${commit === undefined ? '' : `@${commit}`}`
}

/** Describes the source of listed items, which an `id` and a `commit` complete. */
export function sourcesOf(orgId: string, nodeId?: string): string {
  const node = nodeId === undefined ? '{id}' : own`${nodeId}`
  return `${own`Source of each: grove://${orgId}/`}${node}@{commit}`
}

/** Returns the resource of a type. */
export function sourceOfType(orgId: string, name: string): string {
  return `grove://${orgId}/types/${name}`
}

export function nodePage({ base }: Session, orgId: string, nodeId: string): string {
  const urls = new Urls('', base)
  return urls.absolute(urls.node(orgId, nodeId))
}

export function trashPage({ base }: Session, orgId: string): string {
  const urls = new Urls('', base)
  return urls.absolute(urls.trash(orgId))
}

/** The page of a proposal of several nodes. */
export function changeSetPage({ base }: Session, orgId: string, number: number): string {
  const urls = new Urls('', base)
  return urls.absolute(urls.changeSet(orgId, number))
}

export function proposalPage({ base }: Session, orgId: string, nodeId: string, number: number): string {
  const urls = new Urls('', base)
  return urls.absolute(urls.proposal(orgId, nodeId, number))
}
