/** Nodes as git's remotes: who may fetch from and push to one, and which refs they are shown (contract §4, §6). */
import { Readable, type Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { listRefs } from '../../gitstore/refs.ts'
import type { Repo } from '../../gitstore/repo.ts'
import { refuseSuspect } from '../../gitstore/suspects.ts'
import { advertise, type Conversation, serve } from '../../gitstore/transport.ts'
import { allReachable, wantsOf } from '../../gitstore/wants.ts'
import type { Deps } from '../deps.ts'
import { Refusal } from '../errors.ts'
import { nodeFor, orgFor } from './access.ts'
import { type Credential, isWithin } from './accounts/access-tokens.ts'
import { anonymous, type Person } from './actor.ts'
import { main, orgRepo } from './places.ts'
import { receivePush } from './pushes.ts'

export type Service = Conversation['service']

export interface Remote {
  /** The answer to `info/refs`. */
  advertise(output: Writable, protocol: string | undefined, signal: AbortSignal): Promise<void>
  /** The answer to a request of the service; `input` is the body as git wrote it. */
  serve(input: Readable, output: Writable, protocol: string | undefined, signal: AbortSignal): Promise<void>
}

/** The repository that holds the organisation itself, among the names of nodes. */
const orgName = 'org'

/** What each audience is shown. */
const shown = {
  owner: ['refs/'],
  member: ['refs/heads', 'refs/tags'],
  public: [main, 'refs/tags'],
} as const

/**
 * The repository, if the caller may use the service on it.
 *
 * @throws Refusal unauthenticated, org_not_found, node_not_found, forbidden, token_scope; GitError as nodeFor
 */
export async function openRemote(
  deps: Deps,
  credential: Credential | undefined,
  orgId: string,
  name: string,
  service: Service,
): Promise<Remote> {
  if (credential?.scope !== undefined) requireScope(credential.scope, orgId, name, service)
  const actor = credential?.person ?? anonymous
  if (name === orgName) {
    if (actor.kind === 'anonymous') throw new Refusal('unauthenticated', 'Sign in to see this')
    await orgFor(deps, actor, orgId, 'owner')
    if (service === 'git-receive-pack') throw new Refusal('forbidden', 'org.git is written by the service alone')
    return remoteOf(orgRepo(deps.store, orgId), service, 'owner')
  }
  if (service === 'git-receive-pack') {
    if (actor.kind === 'anonymous') throw new Refusal('unauthenticated', 'Sign in to push')
    const { repo } = await nodeFor(deps, actor, orgId, name, 'editor')
    refuseSuspect(repo)
    return remoteOf(repo, service, 'member', pushOf(deps, actor, orgId, name))
  }
  const { repo, role } = await nodeFor(deps, actor, orgId, name, 'public')
  return remoteOf(repo, service, role === null ? 'public' : role === 'owner' ? 'owner' : 'member')
}

function requireScope(scope: NonNullable<Credential['scope']>, orgId: string, name: string, service: Service): void {
  if (!isWithin(scope, orgId, name)) throw new Refusal('token_scope', 'This token is for another repository')
  if (service === 'git-receive-pack' && scope.access === 'read')
    throw new Refusal('token_scope', 'This token may only read')
}

type Push = Parameters<typeof serve>[4]

function pushOf(deps: Deps, person: Person, orgId: string, nodeId: string): Push {
  return (push) => receivePush(deps, person, orgId, nodeId, push)
}

function remoteOf(repo: Repo, service: Service, audience: keyof typeof shown, push?: Push): Remote {
  const conversation = (protocol: string | undefined, signal: AbortSignal): Conversation => ({
    service,
    shown: shown[audience],
    protocol,
    signal,
  })
  return {
    advertise: (output, protocol, signal) => advertise(repo, conversation(protocol, signal), output),
    serve: async (input, output, protocol, signal) => {
      const hides = audience === 'public' && protocol === 'version=2'
      const body = hides ? await withPublicWants(repo, input) : input
      await serve(repo, conversation(protocol, signal), body, output, push)
    },
  }
}

/** The request again, whose wants the public may see. Branches and tags alone are cheap; more is walked for. */
async function withPublicWants(repo: Repo, input: Readable): Promise<Readable> {
  const body = await buffer(input)
  const refs = [...listRefs(repo, 'refs/')].filter(([ref]) => ref === main || ref.startsWith('refs/tags/'))
  const tips = refs.map(([, oid]) => oid)
  if (!(await allReachable(repo, tips, wantsOf(body))))
    throw new Refusal('forbidden', 'This asks for what is not published')
  return Readable.from([body])
}
