/** A row for each operation: a call that succeeds, and who may make it. */

import { randomUUID } from 'node:crypto'
import { setAccount } from '../../index/credentials/accounts.ts'
import { insertIdentity } from '../../index/credentials/identities.ts'
import type { operations } from '../../spec/types.ts'
import {
  made,
  makeBot,
  makeBotToken,
  makeConnected,
  makeDelivery,
  makeDraft,
  makeInvitation,
  makeNode,
  makeOrg,
  makeOwnProposal,
  makeProposal,
  makeRoomForWebhooks,
  makeWebhook,
  ownDraft,
  proposal,
  unheard,
  type World,
  writing,
} from './cast.ts'
import { connectProgram } from './connector.ts'
import { makeEmailToken } from './email-tokens.ts'
import { type Client, password, signUp } from './people.ts'
import { makeHalfSentImport, makeImport, untilImportsEnd, zipOf } from './uploads.ts'

/** Operations that end what a user has with a node. The node may be gone, so they answer 204 for every id. */
export const ofAnyNode: ReadonlySet<string> = new Set(['unfollowNode', 'unmuteNode'])

/**
 * The permission that an operation needs. Roles name the least role.
 * - `anyone`: Authorization is ignored.
 * - `published`: Authorization is ignored, and the organisation must be published.
 * - `public`: members always, and anyone if the organisation is published.
 * - `person`: every account.
 * - `own`: only the owner. Other users get 404.
 * - `administrator`: administrators of the service.
 * - `operator`: callers that know METRICS_TOKEN, which is set. Accounts do not matter.
 *
 * An administrator of the service has the rights of a stranger in an organisation.
 */
export type Need =
  | 'anyone'
  | 'operator'
  | 'published'
  | 'public'
  | 'person'
  | 'own'
  | 'administrator'
  | 'reader'
  | 'contributor'
  | 'editor'
  | 'maintainer'
  | 'owner'

/** Values for the path's parameters, the query and the body. */
export interface Attempt {
  /** Default: the organisation of the world. */
  readonly org?: string
  readonly params?: Readonly<Record<string, string>>
  readonly query?: string
  readonly body?: unknown
  /** Sent instead of the body, as application/zip. */
  readonly zip?: Buffer
  /** Sends the request instead of each signed-in caller, because the operation consumes its user. */
  readonly instead?: Client
}

interface Row {
  readonly need: Need
  /** Makes the objects that the request needs. Makes new ones each time if the request consumes them. */
  attempt(world: World): Attempt | Promise<Attempt>
  /** The same on what belongs to the contributor. The least role is then `contributor`. */
  own?(world: World): Attempt | Promise<Attempt>
}

async function newRefreshToken({ owner, people }: World): Promise<string> {
  return (await made(people.anonymous.post('/auth/login', { email: owner.user.email, password }))).refreshToken
}

const onNode = ({ node }: World): Attempt => ({ params: { node_id: node } })
const onGuest = ({ guest }: World): Attempt => ({ params: { account_id: guest.user.id } })
const onMain = ({ node }: World): Attempt => ({ params: { node_id: node, branch: 'main' } })
/** The head of main, which anyone may read in a published organisation. */
async function onHead({ owner, org, node }: World): Promise<Attempt> {
  const { history } = await made(owner.get(`/orgs/${org}/nodes/${node}/tree/main/commits`))
  return { params: { node_id: node, commit_id: history[0].id } }
}
const onText = ({ node }: World): Attempt => ({ params: { node_id: node, branch: 'main', path: 'content.md' } })
/** Opens a change set with a new page. Returns its number. */
async function makeChangeSet(who: Client, org: string): Promise<string> {
  const body = { title: 'Dolphins', nodes: [{ title: 'Dolphins' }] }
  return `${(await made(who.post(`/orgs/${org}/change-sets`, body))).change_set.number}`
}

async function onChangeSet({ owner, org }: World): Promise<Attempt> {
  return { params: { number: await makeChangeSet(owner, org) } }
}

/** A comment of the owner on a new pull request. */
async function makeComment(world: World): Promise<Attempt> {
  const params = { node_id: await makeProposal(world), number: '1' }
  const { entry } = await made(
    world.owner.post(`${pullPath(world, params.node_id)}/comments`, { text: 'Whales sing.' }),
  )
  return { params: { ...params, entry: `${entry}` } }
}

/** A suggestion of the owner for the file of a pull request. */
async function onSuggestion(world: World, node_id: string): Promise<Attempt> {
  const { expected_source_commit: commit } = await reviewing(world, node_id)
  const anchor = { commit, path: 'draft.md', first_line: 1 }
  const { entry } = await made(
    world.owner.post(`${pullPath(world, node_id)}/comments`, { text: '', suggestion: 'A loud song', anchor }),
  )
  return { params: { node_id, number: '1' }, body: { comments: [entry], expected_source_commit: commit } }
}

/** A review of the maintainer on a new pull request of the owner. */
async function makeReview(world: World): Promise<Attempt> {
  const node_id = await makeProposal(world)
  const body = { ...(await reviewing(world, node_id)), verdict: 'approve' }
  const { entry } = await made(world.members.maintainer.post(`${pullPath(world, node_id)}/reviews`, body))
  return { params: { node_id, number: '1', entry: `${entry}` } }
}

async function reviewing(world: World, node: string) {
  const { pr } = await made(world.owner.get(pullPath(world, node)))
  return { text: 'Whales sing.', expected_source_commit: pr.source_commit }
}

const pullPath = ({ org }: World, node: string) => `/orgs/${org}/nodes/${node}/pull-requests/1`

/** Links an identity to the owner, as a pass of a provider does. */
async function makeIdentity({ grove, owner }: World): Promise<string> {
  const now = new Date().toISOString()
  const row = { id: randomUUID(), subject: randomUUID(), account_id: owner.user.id, email: null, created_at: now }
  const identity = { ...row, provider: 'acme', issuer: 'https://acme.example', confirmed_at: now }
  await grove.deps.credentials.write((trx) => insertIdentity(trx, identity))
  return row.id
}

/** Signs up a user whose address is confirmed. */
async function signUpVerified(grove: World['grove']): Promise<Client> {
  const user = await signUp(grove, randomUUID())
  const email_verified_at = new Date().toISOString()
  await grove.deps.credentials.write((trx) => setAccount(trx, user.user.id, { email_verified_at }))
  return user
}

/** Moves main, so that the branch of pull request 1 can be updated. */
async function onDiverged({ owner, org }: World, node_id: string): Promise<Attempt> {
  await made(owner.post(`/orgs/${org}/nodes/${node_id}/tree/main/commits`, writing('song.md')))
  return { params: { node_id, number: '1' }, body: {} }
}
const onPull = ({ node }: World): Attempt => ({ params: { node_id: node, number: '1' } })

const newTypeName = () => `recipe-${randomUUID()}`

/** Defines a type. */
async function onType({ owner, org }: World): Promise<Attempt> {
  const type_name = newTypeName()
  await made(owner.put(`/orgs/${org}/types/${type_name}`, { definition: { title: 'Recipe' } }))
  return { params: { type_name } }
}

const draftBody = () => ({ node_id: randomUUID(), title: 'Whales', text_content: 'Whales', expected_version: null })

/** Stores a draft of the owner. */
async function onDraft({ owner, org }: World): Promise<Attempt> {
  const draft_id = randomUUID()
  await made(owner.put(`/orgs/${org}/drafts/${draft_id}`, draftBody()))
  return { params: { draft_id } }
}

const onWebhook = async (world: World): Promise<Attempt> => ({ params: { webhook_id: await makeWebhook(world) } })
const onBot = async (world: World): Promise<Attempt> => ({ params: { bot_id: await makeBot(world) } })
const onDelivery = async (world: World): Promise<Attempt> => ({ params: await makeDelivery(world) })

export const table: Readonly<Record<keyof operations, Row>> = {
  signUp: { need: 'anyone', attempt: () => ({ body: { email: `${randomUUID()}@example.org`, password } }) },
  logIn: { need: 'anyone', attempt: ({ owner }) => ({ body: { email: owner.user.email, password } }) },
  refreshSession: {
    need: 'anyone',
    attempt: async (world) => ({ body: { refreshToken: await newRefreshToken(world) } }),
  },
  logOut: { need: 'anyone', attempt: async (world) => ({ body: { refreshToken: await newRefreshToken(world) } }) },
  changePassword: { need: 'person', attempt: () => ({ body: { old_password: password, new_password: password } }) },
  requestPasswordReset: { need: 'anyone', attempt: () => ({ body: { email: 'nobody@example.org' } }) },
  verifyEmail: {
    need: 'anyone',
    attempt: async ({ grove, owner }) => ({ body: { token: await makeEmailToken(grove, owner) } }),
  },
  undoEmailChange: {
    need: 'anyone',
    attempt: async ({ grove }) => {
      const token = await makeEmailToken(grove, await signUp(grove, randomUUID()), 'undo')
      return { body: { token } }
    },
  },
  stopDigest: {
    need: 'anyone',
    attempt: async ({ grove, owner }) => ({ body: { token: await makeEmailToken(grove, owner, 'digest') } }),
  },
  requestVerification: {
    need: 'person',
    attempt: async ({ grove }) => ({ instead: await signUpVerified(grove) }),
  },
  getMe: { need: 'person', attempt: () => ({}) },
  updateMe: { need: 'person', attempt: () => ({ body: { hide_email: false } }) },
  changeEmail: {
    need: 'person',
    attempt: async ({ grove }) => ({
      body: { new_email: `${randomUUID()}@example.org`, password },
      instead: await signUp(grove, randomUUID()),
    }),
  },
  deleteMe: {
    need: 'person',
    attempt: async ({ grove }) => ({ body: { password }, instead: await signUp(grove, randomUUID()) }),
  },
  getAuthConfig: { need: 'anyone', attempt: () => ({}) },
  createFeedToken: { need: 'person', attempt: () => ({}) },
  endFeedToken: { need: 'person', attempt: () => ({}) },
  createToken: { need: 'person', attempt: () => ({ body: { name: 'Laptop', access: 'read' } }) },
  listTokens: { need: 'person', attempt: () => ({}) },
  revokeToken: {
    need: 'own',
    attempt: async ({ owner }) => ({
      params: { token_id: (await made(owner.post('/auth/tokens', { name: 'Laptop', access: 'read' }))).id },
    }),
  },
  listMyConnections: { need: 'person', attempt: () => ({}) },
  endMyConnection: {
    need: 'own',
    attempt: async ({ grove, owner }) => ({ params: { grant_id: (await connectProgram(grove, owner)).id } }),
  },
  listIdentities: { need: 'person', attempt: () => ({}) },
  removeIdentity: {
    need: 'own',
    attempt: async (world) => ({ params: { identity_id: await makeIdentity(world) }, body: { password } }),
  },
  listSessions: { need: 'person', attempt: () => ({}) },
  endOtherSessions: { need: 'person', attempt: () => ({}) },
  endSession: {
    need: 'own',
    attempt: async (world) => {
      await newRefreshToken(world)
      const { sessions } = await made(world.owner.get('/auth/sessions?limit=1'))
      return { params: { session_id: sessions[0].id } }
    },
  },

  listMyAudit: { need: 'person', attempt: () => ({}) },
  exportMyData: { need: 'person', attempt: () => ({}) },

  createOrg: { need: 'person', attempt: () => ({ body: { name: 'Another' } }) },
  listOrgs: { need: 'person', attempt: () => ({}) },
  getOrg: { need: 'public', attempt: () => ({}) },
  listRepositories: { need: 'public', attempt: () => ({}) },
  listCloneUrls: { need: 'public', attempt: () => ({}) },
  exportOrg: { need: 'public', attempt: () => ({}) },
  startImport: {
    need: 'editor',
    attempt: async (world) => {
      await untilImportsEnd(world.owner, world.org)
      return { zip: await zipOf({ 'whales.md': '# Whales\n' }) }
    },
  },
  listImports: { need: 'editor', attempt: () => ({}) },
  getImport: {
    need: 'editor',
    attempt: async (world) => ({ params: { import_id: await makeImport(world.owner, world.org) } }),
  },
  cancelImport: {
    need: 'editor',
    attempt: async (world) => ({
      params: { import_id: await makeHalfSentImport(world.grove, world.owner, world.org) },
    }),
  },
  updateOrg: { need: 'owner', attempt: () => ({ body: { name: `Atlas ${randomUUID()}` } }) },
  deleteOrg: { need: 'owner', attempt: async (world) => ({ org: await makeOrg(world, world.published) }) },
  listMembers: { need: 'reader', attempt: () => ({}) },
  putMember: {
    need: 'owner',
    attempt: ({ guest }) => ({ params: { email: guest.user.email }, body: { role: 'reader' } }),
  },
  removeMember: {
    need: 'owner',
    attempt: async ({ owner, org, guest }) => {
      await made(owner.put(`/orgs/${org}/members/${guest.user.email}`, { role: 'reader' }))
      return { params: { email: guest.user.email } }
    },
  },

  createBot: {
    need: 'owner',
    attempt: async (world) => {
      await makeBot(world)
      return { body: { name: 'Builder', role: 'reader' } }
    },
  },
  listBots: { need: 'owner', attempt: () => ({}) },
  updateBot: { need: 'owner', attempt: async (world) => ({ ...(await onBot(world)), body: { role: 'editor' } }) },
  deleteBot: { need: 'owner', attempt: onBot },
  createBotToken: {
    need: 'owner',
    attempt: async (world) => ({ ...(await onBot(world)), body: { name: 'CI', access: 'read' } }),
  },
  listBotTokens: { need: 'owner', attempt: onBot },
  revokeBotToken: { need: 'owner', attempt: async (world) => ({ params: await makeBotToken(world) }) },

  createInvitation: { need: 'owner', attempt: () => ({ body: { role: 'reader' } }) },
  listInvitations: { need: 'owner', attempt: () => ({}) },
  revokeInvitation: {
    need: 'owner',
    attempt: async (world) => ({ params: { invitation_id: (await makeInvitation(world)).id } }),
  },
  listOrgAudit: { need: 'owner', attempt: () => ({}) },
  readInvitation: {
    need: 'anyone',
    attempt: async (world) => {
      const { token } = await makeInvitation(world)
      return { body: { token } }
    },
  },
  acceptInvitation: {
    need: 'person',
    // It uses a separate organisation, so that the caller gets no role in the world's.
    attempt: async (world) => {
      const { token } = await makeInvitation({ ...world, org: await makeOrg(world, false) })
      return { body: { token } }
    },
  },

  createNode: {
    need: 'editor',
    attempt: ({ node }) => ({ body: { id: randomUUID(), title: 'Dolphins', parents: [node] } }),
  },
  createNodes: {
    need: 'editor',
    attempt: ({ node }) => ({
      body: {
        nodes: [
          { ref: 'krill', title: 'Krill' },
          { title: 'Dolphins', parents: [node, 'krill'] },
        ],
      },
    }),
  },
  putNodes: {
    need: 'editor',
    attempt: async (world) => ({
      body: {
        nodes: [
          { id: await makeNode(world), title: 'Dolphins' },
          { ref: 'krill', title: 'Krill' },
        ],
      },
    }),
  },
  listNodes: { need: 'public', attempt: () => ({}) },
  listChanges: { need: 'public', attempt: () => ({}) },
  listTree: { need: 'public', attempt: () => ({}) },
  listOrgTags: { need: 'public', attempt: () => ({}) },
  listTaggedNodes: { need: 'public', attempt: () => ({ query: '?tag=sea' }) },
  getNode: { need: 'public', attempt: onNode },
  getPath: { need: 'public', attempt: onNode },
  updateNode: {
    need: 'editor',
    attempt: async (world) => ({ params: { node_id: await makeNode(world) }, body: { title: 'Dolphins' } }),
  },
  copyNode: { need: 'editor', attempt: async (world) => ({ params: { node_id: await makeNode(world) } }) },
  deleteNode: { need: 'maintainer', attempt: async (world) => ({ params: { node_id: await makeNode(world) } }) },
  listTrash: { need: 'maintainer', attempt: () => ({}) },
  restoreNode: {
    need: 'maintainer',
    attempt: async (world) => {
      const node_id = await makeNode(world)
      await made(world.owner.delete(`/orgs/${world.org}/nodes/${node_id}`))
      return { params: { node_id } }
    },
  },
  putParent: {
    need: 'editor',
    attempt: async (world) => ({ params: { node_id: await makeNode(world), parent_id: world.node }, body: {} }),
  },
  removeParent: {
    need: 'editor',
    attempt: async (world) => ({
      params: { node_id: await makeNode(world, { parents: [world.node] }), parent_id: world.node },
    }),
  },
  listConnections: { need: 'public', attempt: onNode },
  listLinks: { need: 'public', attempt: onNode },
  listBacklinks: { need: 'public', attempt: onNode },
  addConnection: {
    need: 'editor',
    attempt: async (world) => ({
      params: { node_id: await makeNode(world) },
      body: { target: world.node, id: 'krill' },
    }),
  },
  updateConnection: {
    need: 'editor',
    attempt: async (world) => ({
      params: { node_id: await makeConnected(world), connection_id: 'krill' },
      body: { type: 'feeds_on' },
    }),
  },
  removeConnection: {
    need: 'editor',
    attempt: async (world) => ({ params: { node_id: await makeConnected(world), connection_id: 'krill' } }),
  },

  listBranches: { need: 'public', attempt: onNode },
  createBranch: {
    need: 'editor',
    attempt: async (world) => ({ params: { node_id: await makeNode(world) }, body: { name: 'draft' } }),
    own: async (world) => ({ params: { node_id: await makeNode(world) }, body: { name: ownDraft(world).name } }),
  },
  getBranch: { need: 'public', attempt: onMain },
  deleteBranch: {
    need: 'editor',
    attempt: async (world) => ({ params: { node_id: await makeDraft(world), branch: 'draft' } }),
    own: async (world) => {
      const branch = ownDraft(world).name
      return { params: { node_id: await makeDraft(world, branch), branch } }
    },
  },
  restoreBranch: {
    need: 'editor',
    attempt: async (world) => {
      const node_id = await makeNode(world)
      const tree = `/orgs/${world.org}/nodes/${node_id}/tree/main/commits`
      const { parent_commits } = await made(world.owner.post(tree, writing('song.md')))
      return { params: { node_id, branch: 'main' }, body: { commit: parent_commits[0] } }
    },
    own: async (world) => {
      const branch = ownDraft(world).name
      const node_id = await makeDraft(world, branch)
      const { head } = await made(world.owner.get(`/orgs/${world.org}/nodes/${node_id}`))
      return { params: { node_id, branch }, body: { commit: head } }
    },
  },
  listTags: { need: 'public', attempt: onNode },

  listEntities: { need: 'public', attempt: onMain },
  getFile: { need: 'public', attempt: onText },
  getObject: { need: 'public', attempt: ({ node, blob }) => ({ params: { node_id: node, object_id: blob } }) },
  getRaw: { need: 'public', attempt: onText },
  getBlame: { need: 'public', attempt: onText },
  listCommits: { need: 'public', attempt: onMain },
  createCommit: {
    need: 'editor',
    attempt: async (world) => ({
      params: { node_id: await makeNode(world), branch: 'main' },
      body: writing('song.md'),
    }),
    own: async (world) => {
      const branch = ownDraft(world).name
      return { params: { node_id: await makeDraft(world, branch), branch }, body: writing('song.md') }
    },
  },
  getCommit: {
    need: 'public',
    attempt: ({ node, head }) => ({ params: { node_id: node, branch: 'main', commit_id: head } }),
  },
  getCommitDiff: { need: 'public', attempt: ({ node, head }) => ({ params: { node_id: node, commit: head } }) },
  compareCommits: {
    need: 'public',
    attempt: (world) => ({ ...onNode(world), query: `?base=main&head=${world.head}` }),
  },
  getPatch: { need: 'public', attempt: (world) => ({ ...onNode(world), query: `?head=${world.head}` }) },

  openPull: {
    need: 'editor',
    attempt: async (world) => ({ params: { node_id: await makeDraft(world) }, body: proposal }),
    own: async (world) => {
      const { name, proposal } = ownDraft(world)
      return { params: { node_id: await makeDraft(world, name) }, body: proposal }
    },
  },
  openChangeSet: {
    need: 'contributor',
    attempt: () => ({ body: { title: 'Dolphins', nodes: [{ title: 'Dolphins' }] } }),
  },
  listChangeSets: { need: 'reader', attempt: () => ({}) },
  getChangeSet: { need: 'reader', attempt: onChangeSet },
  getChangeSetImpact: { need: 'reader', attempt: onChangeSet },
  updateChangeSet: {
    need: 'editor',
    attempt: async (world) => ({ ...(await onChangeSet(world)), body: { status: 'closed' } }),
    own: async ({ org, members: { contributor } }) => ({
      params: { number: await makeChangeSet(contributor, org) },
      body: { status: 'closed' },
    }),
  },
  mergeChangeSet: { need: 'editor', attempt: onChangeSet },
  updateChangeSetBranches: {
    need: 'editor',
    attempt: onChangeSet,
    own: async ({ org, members: { contributor } }) => ({ params: { number: await makeChangeSet(contributor, org) } }),
  },
  undoChangeSet: {
    need: 'editor',
    attempt: async (world) => {
      const attempt = await onChangeSet(world)
      await made(world.owner.post(`/orgs/${world.org}/change-sets/${attempt.params?.number}/merge`, {}))
      return attempt
    },
  },
  submitChangeSetReview: {
    need: 'reader',
    attempt: async (world) => {
      const { params = {} } = await onChangeSet(world)
      const { change_set: set } = await made(world.owner.get(`/orgs/${world.org}/change-sets/${params.number}`))
      return { params, body: { text: 'Whales sing.', expected_version: set.version } }
    },
  },
  putChangeSetCheck: {
    need: 'editor',
    attempt: async (world) => {
      const { params = {} } = await onChangeSet(world)
      const { change_set: set } = await made(world.owner.get(`/orgs/${world.org}/change-sets/${params.number}`))
      return { params: { ...params, name: 'links' }, body: { state: 'success', expected_version: set.version } }
    },
  },
  listOrgPulls: { need: 'reader', attempt: () => ({}) },
  listPulls: { need: 'reader', attempt: onNode },
  getPull: { need: 'reader', attempt: onPull },
  updatePull: {
    need: 'editor',
    attempt: async (world) => ({
      params: { node_id: await makeProposal(world), number: '1' },
      body: { status: 'closed' },
    }),
    own: async (world) => ({
      params: { node_id: await makeOwnProposal(world), number: '1' },
      body: { status: 'closed' },
    }),
  },
  mergePull: {
    need: 'editor',
    attempt: async (world) => ({ params: { node_id: await makeProposal(world), number: '1' }, body: {} }),
  },
  updatePullBranch: {
    need: 'editor',
    attempt: async (world) => onDiverged(world, await makeProposal(world)),
    own: async (world) => onDiverged(world, await makeOwnProposal(world)),
  },
  undoPull: {
    need: 'editor',
    attempt: async (world) => {
      const node_id = await makeProposal(world)
      await made(world.owner.post(`/orgs/${world.org}/nodes/${node_id}/pull-requests/1/merge`, {}))
      return { params: { node_id, number: '1' }, body: {} }
    },
  },
  listPullCommits: { need: 'reader', attempt: onPull },
  getPullChanges: { need: 'reader', attempt: onPull },
  getPullDiff: { need: 'reader', attempt: onPull },
  getPullImpact: { need: 'reader', attempt: onPull },
  getPullChangesSince: {
    need: 'reader',
    attempt: (world) => ({ ...onPull(world), query: `?commit=${world.head}` }),
  },

  getTimeline: { need: 'reader', attempt: onPull },
  listThreads: { need: 'reader', attempt: onPull },
  updateThread: {
    need: 'editor',
    attempt: async (world) => ({ ...(await makeComment(world)), body: { resolved: true } }),
  },
  createComment: { need: 'reader', attempt: (world) => ({ ...onPull(world), body: { text: 'Whales sing.' } }) },
  getComment: { need: 'reader', attempt: makeComment },
  applySuggestions: {
    need: 'editor',
    attempt: async (world) => onSuggestion(world, await makeProposal(world)),
    own: async (world) => onSuggestion(world, await makeOwnProposal(world)),
  },
  // The owner wrote the comment. Nobody else may change it.
  updateComment: {
    need: 'owner',
    attempt: async (world) => ({ ...(await makeComment(world)), body: { text: 'They sing.' } }),
  },
  deleteComment: { need: 'maintainer', attempt: makeComment },
  submitReview: {
    need: 'reader',
    attempt: async (world) => ({ ...onPull(world), body: await reviewing(world, world.node) }),
  },
  listReviews: { need: 'reader', attempt: onPull },
  getReview: { need: 'reader', attempt: makeReview },
  putCheck: {
    need: 'editor',
    attempt: async (world) => {
      const { params } = await onHead(world)
      // A check stays with its first reporter.
      return { params: { ...params, name: randomUUID() }, body: { state: 'success' } }
    },
  },
  listChecks: { need: 'reader', attempt: onHead },
  updateReview: {
    need: 'maintainer',
    attempt: async (world) => ({ ...(await makeReview(world)), body: { state: 'dismissed', reason: 'Answered.' } }),
  },
  eraseEntry: { need: 'owner', attempt: makeComment },
  putReadMark: { need: 'reader', attempt: (world) => ({ ...onPull(world), body: { entry: 1 } }) },
  listWaiting: { need: 'person', attempt: () => ({}) },
  listOrgWaiting: { need: 'reader', attempt: () => ({}) },
  listDrafts: { need: 'person', attempt: () => ({}) },
  listOrgDrafts: { need: 'reader', attempt: () => ({}) },
  getDraft: { need: 'own', attempt: onDraft },
  putDraft: { need: 'contributor', attempt: () => ({ params: { draft_id: randomUUID() }, body: draftBody() }) },
  deleteDraft: { need: 'own', attempt: onDraft },
  listEvents: { need: 'reader', attempt: () => ({}) },

  listInbox: { need: 'person', attempt: () => ({}) },
  listUnread: { need: 'person', attempt: () => ({}) },
  listOrgInbox: { need: 'reader', attempt: () => ({}) },
  getInboxFeed: {
    need: 'anyone',
    attempt: async ({ owner }) => ({ query: `?token=${(await made(owner.post('/auth/feed-token'))).token}` }),
  },
  putInboxMark: { need: 'person', attempt: () => ({ body: { cursor: 'Xi96m0wCAAAAAAMs' } }) },
  putOrgInboxMark: { need: 'reader', attempt: () => ({ body: { cursor: 'Xi96m0wCAAAAAAMs' } }) },
  listFollows: { need: 'person', attempt: () => ({}) },
  followOrg: { need: 'reader', attempt: () => ({}) },
  unfollowOrg: { need: 'reader', attempt: () => ({}) },
  followNode: { need: 'reader', attempt: (world) => ({ ...onNode(world), body: { scope: 'tree' } }) },
  unfollowNode: { need: 'reader', attempt: onNode },
  listMutes: { need: 'person', attempt: () => ({}) },
  muteNode: { need: 'reader', attempt: onNode },
  unmuteNode: { need: 'reader', attempt: onNode },

  getPublicGraph: { need: 'published', attempt: () => ({}) },
  getGraph: { need: 'public', attempt: () => ({}) },
  getMap: { need: 'public', attempt: () => ({}) },
  searchNodes: { need: 'public', attempt: () => ({ body: { query: 'whales' } }) },
  suggestTitles: { need: 'public', attempt: () => ({ query: '?q=wha' }) },
  queryNodes: { need: 'public', attempt: () => ({ body: { where: 'tag:sea' } }) },
  listProperties: { need: 'public', attempt: () => ({}) },
  listTypes: { need: 'public', attempt: () => ({}) },
  getType: { need: 'public', attempt: onType },
  putType: {
    need: 'maintainer',
    attempt: () => ({ params: { type_name: newTypeName() }, body: { definition: { title: 'Recipe' } } }),
  },
  checkType: {
    need: 'reader',
    attempt: () => ({ params: { type_name: 'recipe' }, body: { definition: { title: 'Recipe' } } }),
  },
  deleteType: { need: 'maintainer', attempt: onType },
  listTypeProblems: { need: 'reader', attempt: onType },
  listTypeHistory: { need: 'reader', attempt: onType },

  createWebhook: {
    need: 'owner',
    attempt: async (world) => {
      await makeRoomForWebhooks(world)
      return { body: { url: unheard, active: false } }
    },
  },
  listWebhooks: { need: 'owner', attempt: () => ({}) },
  getWebhook: { need: 'owner', attempt: onWebhook },
  updateWebhook: {
    need: 'owner',
    attempt: async (world) => ({ ...(await onWebhook(world)), body: { active: false } }),
  },
  deleteWebhook: { need: 'owner', attempt: onWebhook },
  rotateWebhookSecret: { need: 'owner', attempt: onWebhook },
  pingWebhook: { need: 'owner', attempt: onWebhook },
  listDeliveries: { need: 'owner', attempt: onWebhook },
  getDelivery: { need: 'owner', attempt: onDelivery },
  redeliverDelivery: { need: 'owner', attempt: onDelivery },
  redeliverFailed: {
    need: 'owner',
    attempt: async (world) => ({ ...(await onWebhook(world)), body: { since: '2026-01-01T00:00:00Z' } }),
  },

  listAccounts: { need: 'administrator', attempt: () => ({}) },
  createAccount: {
    need: 'administrator',
    attempt: () => ({ body: { email: `${randomUUID()}@example.org` } }),
  },
  getAccount: { need: 'administrator', attempt: onGuest },
  updateAccount: { need: 'administrator', attempt: (world) => ({ ...onGuest(world), body: { disabled: false } }) },
  deleteAccount: {
    need: 'administrator',
    attempt: async ({ grove }) => ({ params: { account_id: (await signUp(grove, randomUUID())).user.id } }),
  },
  resetAccount: { need: 'administrator', attempt: onGuest },
  listAllOrgs: { need: 'administrator', attempt: () => ({}) },
  updateOrgLimits: { need: 'administrator', attempt: () => ({ body: {} }) },
  listPlaces: { need: 'administrator', attempt: () => ({}) },
  listServiceAudit: { need: 'administrator', attempt: () => ({}) },
  getServiceStatus: { need: 'administrator', attempt: () => ({}) },

  getHealth: { need: 'anyone', attempt: () => ({}) },
  getReadiness: { need: 'anyone', attempt: () => ({}) },
  getMetrics: { need: 'operator', attempt: () => ({}) },
  getSpec: { need: 'anyone', attempt: () => ({}) },
  getJwks: { need: 'anyone', attempt: () => ({}) },
  getOpenidConfiguration: { need: 'anyone', attempt: () => ({}) },
  getProtectedResource: { need: 'anyone', attempt: () => ({}) },
  getMcpResource: { need: 'anyone', attempt: () => ({}) },
  getAuthorizationServer: { need: 'anyone', attempt: () => ({}) },
  getJoinPage: { need: 'anyone', attempt: () => ({}) },
  getDocs: { need: 'anyone', attempt: () => ({}) },
}
