/**
 * Receives pushes to `new.git`, which propose new pages. It has no refs and takes one branch, which is named after a
 * change set. The page is there as a proposed one while the pack arrives, so that its branch joins the set as any
 * other. A page whose push was refused or cut off is removed.
 */
import { v7 as newId } from 'uuid'
import { createRepo } from '../../../gitstore/new-repos.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Repo } from '../../../gitstore/repo.ts'
import { removeRepo, repoExists } from '../../../gitstore/repo-folders.ts'
import type { Push } from '../../../gitstore/transfer/proc-receive.ts'
import { listSetItems } from '../../../index/derived/change-sets.ts'
import { findPull } from '../../../index/derived/pulls.ts'
import { branchPrefixOf, type OrgAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { PushRejectedError } from '../branches/push-context.ts'
import type { PushUrls } from '../consent/wording.ts'
import { authorizeFreshOrg } from '../indexing/freshness.ts'
import { tryIndexNode } from '../indexing/index-node.ts'
import { branchName, branchRef, ledgerRef, main, nodeRepo, orgRepo } from '../layout.ts'
import { readLastNumber, startLedger } from '../ledger/ledger.ts'
import { withRoomForNodes } from '../quotas.ts'
import type { Ctx } from '../services.ts'
import { refuseManyPages } from '../sets/open.ts'
import { settleSets } from '../sets/views.ts'
import type { NodeAt, OrgAt } from '../targets.ts'
import { describeSet, findOpenSet, parseSetRef } from './joining.ts'
import { type PushOutcome, receivePush } from './receive-push.ts'

/** The name of this repository, among those of nodes. */
export const newName = 'new'

/** The repository of a push. */
export interface Receiver {
  /** The refs that the client sees before it pushes. */
  readonly advertised: { readonly repo: Repo; readonly shown: readonly string[] }
  /** Returns why each ref is refused, before any object arrives. Undefined: it is not. */
  refuse(refs: readonly string[]): Promise<ReadonlyMap<string, string | undefined>>
  /** Calls `serve` with the repository. @throws errors of `serve`; AppError quota_exceeded */
  receive(serve: (repo: Repo, judge: (push: Push) => Promise<PushOutcome>) => Promise<void>): Promise<void>
}

/** @throws errors of authorizeFreshOrg */
export async function newReceiver(ctx: Ctx<Person>, at: OrgAt, urls: PushUrls): Promise<Receiver> {
  const access = await authorizeFreshOrg(ctx, at, 'contributor')
  let set: NamedSet | undefined
  return {
    advertised: { repo: orgRepo(ctx.store, access.org.id), shown: [] },
    refuse: async (refs) => {
      let refusal: string | undefined
      try {
        set = await findNamedSet(ctx, access, refs)
      } catch (error) {
        if (!(error instanceof PushRejectedError)) throw error
        refusal = error.message
      }
      return new Map(refs.map((ref) => [ref, refusal]))
    },
    receive: async (serve) => {
      if (set === undefined) throw new Error('The refs are still to be read')
      const { id, number, ref } = set
      await withNewPage(ctx, access, id, (page) =>
        serve(
          nodeRepo(ctx.store, page.org_id, page.node_id),
          async (push) =>
            (await answerRepeated(ctx, access, number, push, urls)) ?? receiveAs(ctx, page, push, ref, urls),
        ),
      )
    },
  }
}

/** The set that a branch names. */
interface NamedSet {
  /** Its id. A new set gets it. */
  readonly id: string
  /** Undefined: a set that is to be opened. */
  readonly number: number | undefined
  /** The branch below the prefix of the caller. */
  readonly ref: string
}

/** @throws PushRejectedError */
async function findNamedSet(ctx: Ctx<Person>, access: OrgAccess, refs: readonly string[]): Promise<NamedSet> {
  const [sent = '', ...others] = refs
  const ref = sent === main ? branchRef('sets/new') : sent
  const named = parseSetRef(ref)
  if (named === undefined || others.length > 0)
    throw new PushRejectedError('new.git takes one branch: main, sets/new, or that of a change set, such as sets/7')
  const id = named.number === undefined ? newId() : (await findOpenSet(ctx, access, named.number)).id
  const isPrefixed = !ref.startsWith(branchRef('sets/'))
  const own = isPrefixed ? ref : branchRef(`${branchPrefixOf(access) ?? ''}${branchName(ref)}`)
  return { id, number: named.number, ref: own }
}

/**
 * Answers a push whose commit is the head of a new page. Clients repeat a push whose answer was lost. Undefined: the
 * set has no such page.
 */
async function answerRepeated(
  ctx: Ctx<Person>,
  { org }: OrgAccess,
  number: number | undefined,
  { commands: [command] }: Push,
  urls: PushUrls,
): Promise<PushOutcome | undefined> {
  if (number === undefined || !command) return undefined
  await settleSets(ctx, org.id)
  const { read } = ctx.index
  for (const { node_id, pull, act } of await listSetItems(read, org.id, [number])) {
    const found = act === 'create' ? await findPull(read, node_id, pull) : undefined
    if (found?.status !== 'open') continue
    const ref = branchRef(found.source_branch)
    if (readRef(nodeRepo(ctx.store, org.id, node_id), ref) !== command.to) continue
    const lines = [await describeSet(ctx, org.id, number, urls.set), proposedLine(node_id, urls)]
    return { refused: new Map(), renamed: new Map([[command.ref, ref]]), lines, reasons: [] }
  }
  return undefined
}

function proposedLine(nodeId: string, urls: PushUrls): string {
  return `Proposed as ${nodeId}. Set the remote: git remote set-url origin ${urls.remote(nodeId)}`
}

/** Receives the only ref of the push as `ref`. */
async function receiveAs(
  ctx: Ctx<Person>,
  page: NodeAt,
  push: Push,
  ref: string,
  urls: PushUrls,
): Promise<PushOutcome> {
  const commands = push.commands.map((command) => ({ ...command, ref }))
  const { refused, renamed, lines, reasons } = await receivePush(ctx, page, { ...push, commands }, urls)
  const [sent = ref] = push.commands.map((command) => command.ref)
  const reason = refused.get(ref)
  if (reason !== undefined) return { refused: new Map([[sent, reason]]), lines, reasons }
  return {
    refused,
    renamed: new Map([[sent, renamed?.get(ref) ?? ref]]),
    lines: [...lines, proposedLine(page.node_id, urls)],
    reasons,
  }
}

/**
 * Calls `work` with a proposed page without a branch. Removes the page, unless it is an item of the set then.
 *
 * @throws errors of `work`; AppError quota_exceeded, too_many_change_sets
 */
function withNewPage(
  ctx: Ctx<Person>,
  { org }: OrgAccess,
  setId: string,
  work: (page: NodeAt) => Promise<void>,
): Promise<void> {
  return withRoomForNodes(ctx, org.id, 1, async () => {
    await refuseManyPages(ctx, org.id, 1)
    const page = { org_id: org.id, node_id: newId() }
    const created_at = ctx.now().toISOString()
    const record = { id: page.node_id, org_id: org.id, title: '', created_at, state: 'proposed', proposed_in: setId }
    const { dir } = nodeRepo(ctx.store, org.id, page.node_id)
    const repo = await createRepo(
      dir,
      async (draft) => new Map([[ledgerRef, await startLedger(draft, record, ctx.actor)]]),
    )
    try {
      await work(page)
    } finally {
      if (!(await isItem(repo))) {
        await removeRepo(dir)
        await tryIndexNode(ctx, org.id, page.node_id)
      }
    }
  })
}

async function isItem(repo: Repo): Promise<boolean> {
  const ledger = repoExists(repo) ? readRef(repo, ledgerRef) : null
  return ledger !== null && (await readLastNumber(repo, ledger)) > 0
}
