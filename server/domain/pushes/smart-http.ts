/** Repositories over git's smart HTTP, with the permissions of fetches and pushes. */
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { isGitError } from '../../../gitstore/errors.ts'
import { awaitMoves } from '../../../gitstore/refs/await-moves.ts'
import { refuseReadOnly } from '../../../gitstore/refs/read-only.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import type { ReadOptions } from '../../../gitstore/transfer/bounded-input.ts'
import type { Exchange } from '../../../gitstore/transfer/exchange.ts'
import type { FetchRequest } from '../../../gitstore/transfer/fetch-request.ts'
import { type Judge, oneLine } from '../../../gitstore/transfer/proc-receive.ts'
import { type PushHead, refusalOf } from '../../../gitstore/transfer/push-request.ts'
import { judgeFetch, withWholeNames } from '../../../gitstore/transfer/reachability.ts'
import {
  advertise,
  pushHeadOf,
  readFetch,
  sendError,
  serveFetch,
  servePush,
} from '../../../gitstore/transfer/smart-http.ts'
import { pushAnswerOf } from '../../base/error-mapping.ts'
import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { type NodeAccess, requireRole } from '../access.ts'
import { type Credential, isWithin } from '../accounts/access-tokens.ts'
import { anonymous, includesAccess, type Person } from '../actor.ts'
import { findRefProblem } from '../branches/ref-rules.ts'
import { tagsOnMain } from '../branches/tags.ts'
import { type Audience, audienceOf, listVisibleRefs, visiblePlaces } from '../branches/visible-refs.ts'
import { openPushRoom, requireBytesLeft } from '../byte-quota.ts'
import type { PushUrls } from '../consent/wording.ts'
import { diskFullError } from '../disk-reserve.ts'
import { authorizeFresh, authorizeFreshOrg } from '../indexing/freshness.ts'
import { main, maintenanceFile, orgRepo } from '../layout.ts'
import { maintenanceError } from '../maintenance-mode.ts'
import type { Ctx, Services } from '../services.ts'
import type { NodeAt, RepositoryAt } from '../targets.ts'
import { ownSetBranch } from './joining.ts'
import { newName, newReceiver, type Receiver } from './new-repository.ts'
import { receivePush } from './receive-push.ts'
export type GitService = Exchange['service']

/** The protocol version, the length of the request, and the signals that abort the exchange. */
interface Wire extends Pick<Exchange, 'version' | 'bodyBytes' | 'signal' | 'stopping'> {
  /** Reports the reasons of refused refs to the log and the audit. Awaited before the response ends. */
  refused(reasons: readonly string[]): Promise<void>
}
/** Writes the response. */
type Send = (output: Writable, wire: Wire) => Promise<void>

interface Answer {
  /** `list`: refs or a sentence, which take a moment. `pack`: objects. */
  readonly work: 'list' | 'pack'
  readonly answer: Send
}

export interface SmartHttp {
  /** True if the caller sees only published content. */
  readonly isPublic: boolean
  /** The response to `info/refs`. */
  readonly advertisement: Answer
  /**
   * Reads the request; for a push, the part before the pack. No Git process runs yet.
   *
   * @throws GitError limit_exceeded, malformed_request
   * @throws the reason of `signal`, or the errors of `hold`
   */
  read(body: GitBody, wire: Wire, hold: ReadOptions['hold']): Promise<Answer>
}

/** The decoded body of a request. */
export interface GitBody {
  readonly input: Readable
  /** Reads the part of a push before the pack, as `pushHeadOf` does. */
  readonly head: (reading: ReadOptions) => Promise<PushHead>
}

export function gitBody(input: Readable): GitBody {
  return { input, head: pushHeadOf(input) }
}

/** The name of the organisation's own repository, among those of its nodes. */
const orgName = 'org'

const { memberFetchBytes, publicFetchBytes } = limits
/** The most bytes of a fetch request: 50 per object. */
const fetchLimitBytes: Readonly<Record<Audience, number>> = {
  public: publicFetchBytes,
  member: memberFetchBytes,
  owner: memberFetchBytes,
}

/**
 * Opens the repository if the caller may use the service on it.
 *
 * @throws AppError unauthenticated, org_not_found, node_not_found, forbidden, token_scope, quota_exceeded; GitError as
 *   authorizeNode
 */
export async function openSmartHttp(
  deps: Services,
  credential: Credential | undefined,
  at: RepositoryAt,
  service: GitService,
  urls: PushUrls,
): Promise<SmartHttp> {
  const { org_id: orgId, name } = at
  if (credential?.scope !== undefined) requireScope(credential.scope, at, service)
  const actor = credential?.person ?? anonymous
  if (name === orgName) {
    if (actor.kind === 'anonymous') throw new AppError('unauthenticated', 'Sign in to see this')
    await authorizeFreshOrg({ ...deps, actor }, at, 'owner')
    if (service === 'git-receive-pack') throw new AppError('forbidden', 'Only the service can write to org.git')
    return fetchService(orgRepo(deps.store, orgId), 'owner')
  }
  const node = { org_id: orgId, node_id: name }
  if (service === 'git-receive-pack') {
    const { maintenance, reserve } = deps
    const mode = maintenance.current()
    if (mode !== undefined) throw maintenanceError(mode, deps.now())
    if (reserve.isFreed()) throw diskFullError()
    if (actor.kind === 'anonymous') throw new AppError('unauthenticated', 'Sign in to push')
    const ctx = { ...deps, actor }
    const receiver = name === newName ? await newReceiver(ctx, at, urls) : await nodeReceiver(ctx, node, urls)
    await requireBytesLeft(deps, orgId)
    return pushService(deps, orgId, receiver)
  }
  const access = await authorizeFresh({ ...deps, actor }, node, 'public', true)
  await awaitMoves(deps.store, { repo: access.repo, ref: main })
  return fetchService(access.repo, audienceOf(access.role), () => clonedTags(access))
}

/** Characters of the names of tags that Git gets one by one. Its limit for all of them is 128 KiB. */
const tagCharacters = 98_304
/** Characters of the setting that shows a ref. */
const settingCharacters = 30

/** The tags that the caller clones, if not all: the first by name. */
async function clonedTags(access: NodeAccess): Promise<Tags> {
  const tags = await tagsOnMain(access)
  if (tags === undefined) return undefined
  let left = tagCharacters
  const isWithinLimit = ([ref]: readonly [string, ...unknown[]]) => {
    left -= ref.length + settingCharacters
    return left >= 0
  }
  return new Map([...tags].filter(isWithinLimit))
}

function requireScope(
  scope: NonNullable<Credential['scope']>,
  { org_id: orgId, name }: RepositoryAt,
  service: GitService,
): void {
  if (!isWithin(scope, orgId, name))
    throw new AppError('token_scope', 'This token is limited to another organisation or node')
  if (service === 'git-receive-pack' && !includesAccess(scope.access, 'propose'))
    throw new AppError('token_scope', 'This token is read-only')
}

type Tags = ReadonlyMap<string, Oid> | undefined

/** @param tagsNow the tags that the caller sees; undefined: all */
function fetchService(repo: Repo, audience: Audience, tagsNow: () => Promise<Tags> = async () => undefined): SmartHttp {
  const conversation = (wire: Wire, tags: Tags) =>
    ({ ...wire, service: 'git-upload-pack', shown: visiblePlaces(repo, audience, tags) }) satisfies Exchange
  const answer = async (request: FetchRequest, output: Writable, wire: Wire): Promise<void> => {
    const tags = await tagsNow()
    const talk = conversation(wire, tags)
    if (request.command === 'nothing') return void output.end()
    if (request.command === 'ls-refs') return serveFetch(repo, talk, request, output)
    const refs = fetchable(repo, audience, tags)
    const judged = audience === 'owner' ? withWholeNames(refs, request) : await judgeFetch(repo, refs, request)
    await serveFetch(repo, talk, judged, output)
  }
  return {
    isPublic: audience === 'public',
    advertisement: {
      work: 'list',
      answer: async (output, wire) => advertise(repo, conversation(wire, await tagsNow()), output),
    },
    read: async ({ input }, wire, hold) => {
      const reading = { signal: wire.signal, hold, limitBytes: fetchLimitBytes[audience] }
      const asked = await errorsAsText(() => readFetch(input, wire.version, reading))
      if (typeof asked === 'string') return { work: 'list', answer: async (output) => sendError(output, asked) }
      return {
        work: asked.command === 'fetch' ? 'pack' : 'list',
        answer: async (output, later) => {
          const refused = await errorsAsText(() => answer(asked, output, later))
          if (refused !== undefined) sendError(output, refused)
        },
      }
    },
  }
}

/** Returns the message of an error that is reported in git's protocol, without a status. */
async function errorsAsText<T>(work: () => Promise<T>): Promise<T | string> {
  try {
    return await work()
  } catch (error) {
    if (isGitError(error, 'not_offered')) return error.message
    throw error
  }
}

/** The refs that a fetch may name. */
function fetchable(repo: Repo, audience: Audience, tags: Tags): Map<string, Oid> {
  const refs = listVisibleRefs(repo, audience, tags)
  const head = refs.get(main)
  return head === undefined ? refs : refs.set('HEAD', head)
}

async function nodeReceiver(ctx: Ctx<Person>, at: NodeAt, urls: PushUrls): Promise<Receiver> {
  const access = await authorizeFresh(ctx, at, 'contributor', true)
  const { repo } = access
  refuseReadOnly(repo)
  return {
    advertised: { repo, shown: visiblePlaces(repo, 'member') },
    refuse: async (refs) => new Map(refs.map((ref) => [ref, findRefusal(access, ref)])),
    receive: (serve) => serve(repo, (push) => receivePush(ctx, at, push, urls)),
  }
}

/** The reason why this user cannot push to the ref; undefined if they can. It is checked again when the pack is here. */
function findRefusal(access: NodeAccess, ref: string): string | undefined {
  try {
    const problem = findRefProblem(ref)
    if (problem === undefined) requireRole(access, { ref })
    return problem
  } catch (error) {
    const { reason } = pushAnswerOf(error)
    const branch = ownSetBranch(access, ref)
    return branch === undefined ? reason : reason.replace(/;.*/, `; push there: git push origin HEAD:${branch}`)
  }
}

/** True if all refs are refused. The pack is then not received. */
function isRefusedWhole(refused: ReadonlyMap<string, string | undefined>): refused is ReadonlyMap<string, string> {
  return [...refused.values()].every((problem) => problem !== undefined)
}

/**
 * Returns the response that refuses each ref of a push. Git does not show the text of another status. It also ignores
 * what refuses a request without refs, which precedes a large one, so the response to that is empty.
 *
 * @throws the errors of readFrames; a list that is still to be read has a second and 64 KiB
 */
export async function reportRefusal({ head }: GitBody, reason: string): Promise<Buffer> {
  const signal = AbortSignal.timeout(1_000)
  const read = await head({ signal, hold: () => undefined, limitBytes: 2 ** 16 })
  return read.refs.length === 0 ? Buffer.alloc(0) : refusalOfAll(read, oneLine(reason))
}

function refusalOfAll(head: PushHead, reason: string): Buffer {
  return refusalOf(head, new Map(head.refs.map((ref) => [ref, reason])))
}

/** Returns the message of a full quota. @throws any other error */
function quotaReason(error: unknown): string {
  if (error instanceof AppError && error.code === 'quota_exceeded') return error.message
  throw error
}

let pushes = 0

function pushService(deps: Services, orgId: string, { advertised, refuse, receive }: Receiver): SmartHttp {
  const { config, store } = deps
  const conversation = (wire: Wire) =>
    ({ ...wire, service: 'git-receive-pack', shown: advertised.shown }) satisfies Exchange
  return {
    isPublic: false,
    advertisement: { work: 'list', answer: (output, wire) => advertise(advertised.repo, conversation(wire), output) },
    read: async ({ input, head: readHead }, wire, hold) => {
      const head = await readHead({ signal: wire.signal, hold, limitBytes: limits.pushedRefListBytes })
      if (head.refs.length === 0) return { work: 'list', answer: async (output) => void output.end() }
      const refused = await refuse(head.refs)
      if (isRefusedWhole(refused)) {
        const answer: Send = async (output, later) => {
          await later.refused([...new Set(refused.values())])
          output.end(refusalOf(head, refused))
        }
        return { work: 'list', answer }
      }
      const answer: Send = async (output, later) => {
        let reported: Promise<void> | undefined
        const overspent = (reason: string) => {
          reported = later.refused([reason])
        }
        const room = await openPushRoom(deps, orgId, later.bodyBytes).catch(quotaReason)
        if (typeof room === 'string') {
          await later.refused([room])
          output.end(refusalOfAll(head, room))
          return
        }
        await receive((repo, judge) => {
          const noted: Judge = async (push) => {
            const outcome = await judge(push)
            if (outcome.reasons.length > 0) await later.refused(outcome.reasons)
            return outcome
          }
          return markOutcomeUnknown(noted, (watched) =>
            servePush(repo, conversation(later), head, input, output, {
              judge: watched,
              cpuSeconds: config.pushCpuSeconds,
              overspent,
              room,
              gate: {
                mark: join(store.run, store.process, `push-${++pushes}`),
                closedBy: join(store.root, maintenanceFile),
              },
            }),
          )
        }).finally(() => {
          room?.end()
          return reported
        })
      }
      return { work: 'pack', answer }
    },
  }
}

/**
 * Distinguishes a push whose refs may have moved from one that failed before.
 *
 * @throws AppError outcome_unknown, if `judge` was called; otherwise the errors of `serve`
 */
async function markOutcomeUnknown(judge: Judge, serve: (judge: Judge) => Promise<void>): Promise<void> {
  let asked = false
  const watched: Judge = (push) => {
    asked = true
    return judge(push)
  }
  try {
    await serve(watched)
  } catch (error) {
    if (!asked) throw error
    const detail = 'The push may have been carried out; fetch before you push again'
    throw new AppError('outcome_unknown', detail, {}, { cause: error })
  }
}
