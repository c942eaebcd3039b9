/** What tools know of the one who calls them: the contract in that person's name, and what the token allows. */

import type { Api } from '../../spec/client/api.ts'
import { Urls } from '../pages/urls.ts'

/** A refusal of the contract, or a fault, as far as a caller learns of it. */
export interface RefusalFacts {
  /** Of HTTP; 0 without an answer. */
  readonly status: number
  readonly code: string
  readonly message: string
  /** Whether the message is written here, and no word of it by the service that was asked. */
  readonly isOwn?: boolean | undefined
  /** What is wrong, and where. */
  readonly problems: readonly { readonly loc: readonly (string | number)[]; readonly msg: string }[]
  /** With `head_moved`, where the branch is. */
  readonly currentHead?: string | undefined
  /** With `pull_request_exists`, the open request. */
  readonly number?: number | undefined
  /** With `token_scope`, the only organisation that the token reaches. */
  readonly tokenOrgId?: string | undefined
}

export interface Session {
  readonly api: Api
  /** The address of the service, without a slash at its end. */
  readonly base: string
  readonly canWrite: boolean
  /** What the token reaches, as far as that is known: all that its person does, one organisation, one node. */
  readonly orgId?: string | undefined
  readonly nodeId?: string | undefined
  factsOf(error: unknown): RefusalFacts
  /** A call has ended with this error. */
  ends(error: unknown): void
  /** Before a tool runs; ids may be anything. */
  calls(tool: string, ids: { readonly org?: string | undefined; readonly node?: string | undefined }): void
}

/** As an answer names what it is from: the node, and the commit that was read. */
export function sourceOf(orgId: string, nodeId: string, commit?: string): string {
  return `grove://${orgId}/${nodeId}${commit === undefined ? '' : `@${commit}`}`
}

export function nodePage({ base }: Session, orgId: string, nodeId: string): string {
  const urls = new Urls('', base)
  return urls.absolute(urls.node(orgId, nodeId))
}

export function proposalPage({ base }: Session, orgId: string, nodeId: string, number: number): string {
  const urls = new Urls('', base)
  return urls.absolute(urls.proposal(orgId, nodeId, number))
}
