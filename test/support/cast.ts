/** Users with every role, and organisations and nodes to test their rights on. */

import { type AccountChange, updateAccount } from '../../server/domain/accounts/administration.ts'
import { operator } from '../../server/domain/actor.ts'
import type { Grove } from './grove.ts'
import { type Answer, type Client, client, type PersonClient, signUp } from './people.ts'
import { until } from './until.ts'

/** The roles come last, the least first. A later role has the rights of the roles before it. */
export const callers = [
  'anonymous',
  'disabled',
  'stranger',
  'administrator',
  'reader',
  'contributor',
  'editor',
  'maintainer',
  'owner',
] as const
export type Caller = (typeof callers)[number]

/** The users of a test, by name. */
export interface Cast {
  readonly grove: Pick<Grove, 'url' | 'deps'>
  readonly people: Readonly<Record<Caller, Client>>
  readonly owner: PersonClient
  readonly members: Readonly<Record<'reader' | 'contributor' | 'editor' | 'maintainer', PersonClient>>
  /** Has an account but is not a member. */
  readonly guest: PersonClient
}

/** An organisation with a member of each role, and a node for tests of reads. */
export interface World extends Cast {
  readonly org: string
  readonly published: boolean
  /** A node with pull request 1, for its branch `draft`, one commit ahead of main. */
  readonly node: string
  readonly head: string
  /** The blob of content.md on main. */
  readonly blob: string
}

export async function castFor(grove: Pick<Grove, 'url' | 'deps'>): Promise<Cast> {
  const [owner, maintainer, editor, contributor, reader, stranger, administrator, disabled, guest] = [
    await signUp(grove, 'Olga Owner'),
    await signUp(grove, 'Max Maintainer'),
    await signUp(grove, 'Eda Editor'),
    await signUp(grove, 'Cora Contributor'),
    await signUp(grove, 'Rob Reader'),
    await signUp(grove, 'Sue Stranger'),
    await signUp(grove, 'Ada Administrator'),
    await signUp(grove, 'Dan Disabled'),
    await signUp(grove, 'Gil Guest'),
  ]
  const change = (of: PersonClient, to: AccountChange) =>
    updateAccount({ ...grove.deps, actor: operator }, { path: { account_id: of.user.id }, body: to })
  await change(administrator, { is_admin: true })
  await change(disabled, { disabled: true })
  const members = { reader, contributor, editor, maintainer }
  const people = { anonymous: client(grove), disabled, stranger, administrator, ...members, owner }
  return { grove, owner, people, members, guest }
}

export async function worldOf(cast: Cast, published: boolean): Promise<World> {
  const { owner } = cast
  const org = await makeOrg(cast, published)
  const world = { ...cast, org, published, node: '', head: '', blob: '' }
  const node = await makeProposal(world)
  const entities = await made(owner.get(`/orgs/${org}/nodes/${node}/tree/main`))
  const text = entities.entities.find((entity: { entity_key: string }) => entity.entity_key === 'content.md')
  return { ...world, node, head: entities.commit_id, blob: text.object_id }
}

/** Creates an organisation of the owner. The other members get their roles. */
export async function makeOrg(
  { owner, members }: Pick<Cast, 'owner' | 'members'>,
  published: boolean,
): Promise<string> {
  const { id } = await made(owner.post('/orgs', { name: 'Atlas', published }))
  for (const [role, { user }] of Object.entries(members)) {
    await made(owner.put(`/orgs/${id}/members/${user.email}`, { role }))
  }
  return id
}

/** Returns the body of an answer that must be a success. @throws Error for any other answer */
// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects
export async function made(sent: Promise<Answer>): Promise<any> {
  const { status, body } = await sent
  if (status < 200 || status > 299) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body
}

type Makers = Pick<World, 'org' | 'owner'>

export async function makeNode({ org, owner }: Makers, fields: object = {}): Promise<string> {
  const text_content = 'Whales are mammals.'
  return (await made(owner.post(`/orgs/${org}/nodes`, { title: 'Whales', text_content, ...fields }))).id
}

/** Creates an invitation and returns the answer. */
export async function makeInvitation(
  { org, owner }: Makers,
  fields: object = {},
): Promise<{ id: string; token: string }> {
  return made(owner.post(`/orgs/${org}/invitations`, { role: 'reader', ...fields }))
}

/** The URL of a port on which nothing listens. */
export const unheard = 'http://127.0.0.1:1025/'

/** Deletes all webhooks if there are many, because an organisation has at most 20. */
export async function makeRoomForWebhooks({ org, owner }: Makers): Promise<void> {
  const { webhooks } = await made(owner.get(`/orgs/${org}/webhooks`))
  if (webhooks.length < 15) return
  for (const { id } of webhooks) await owner.delete(`/orgs/${org}/webhooks/${id}`)
}

/** Creates a webhook whose receiver refuses connections, with one delivery. */
export async function makeWebhook(world: Makers): Promise<string> {
  const { org, owner } = world
  await makeRoomForWebhooks(world)
  const { id } = await made(owner.post(`/orgs/${org}/webhooks`, { url: unheard, active: false }))
  await made(owner.patch(`/orgs/${org}/webhooks/${id}`, { active: true }))
  return id
}

/** Creates a webhook with a delivery, and returns both ids. */
export async function makeDelivery(world: Makers): Promise<{ webhook_id: string; delivery_id: string }> {
  const webhook_id = await makeWebhook(world)
  const at = `/orgs/${world.org}/webhooks/${webhook_id}`
  let delivery: { id: string } | undefined
  await until(async () => {
    ;[delivery] = (await made(world.owner.get(`${at}/deliveries`))).deliveries
    return delivery !== undefined
  })
  return { webhook_id, delivery_id: delivery?.id ?? '' }
}

/** Creates a bot. Deletes all bots first if there are many, because an organisation has at most 50. */
export async function makeBot({ org, owner }: Makers): Promise<string> {
  const { bots } = await made(owner.get(`/orgs/${org}/bots`))
  if (bots.length > 40) for (const { id } of bots) await made(owner.delete(`/orgs/${org}/bots/${id}`))
  return (await made(owner.post(`/orgs/${org}/bots`, { name: 'Builder', role: 'reader' }))).id
}

/** Creates a bot with a token, and returns both ids. */
export async function makeBotToken(world: Makers): Promise<{ bot_id: string; token_id: string }> {
  const bot_id = await makeBot(world)
  const at = `/orgs/${world.org}/bots/${bot_id}/tokens`
  return { bot_id, token_id: (await made(world.owner.post(at, { name: 'CI', access: 'read' }))).id }
}

/** Creates a node whose branch `draft` is one commit ahead of main. */
export async function makeDraft(world: Makers, name = 'draft'): Promise<string> {
  const node = await makeNode(world)
  const at = `/orgs/${world.org}/nodes/${node}`
  await made(world.owner.post(`${at}/branches`, { name }))
  await made(world.owner.post(`${at}/tree/${encodeURIComponent(name)}/commits`, writing('draft.md')))
  return node
}

/** Creates a draft, and pull request 1 for it. */
export async function makeProposal(world: Makers): Promise<string> {
  const node = await makeDraft(world)
  await made(world.owner.post(`/orgs/${world.org}/nodes/${node}/pull-requests`, proposal))
  return node
}

/** The prefix of this user's own branches. */
export function prefixOf({ user }: Pick<PersonClient, 'user'>): string {
  return `users/${user.id.slice(-12)}/`
}

/** The branch `draft` of the contributor, and a proposal of it. */
export function ownDraft({ members }: Pick<Cast, 'members'>): { name: string; proposal: typeof proposal } {
  const name = `${prefixOf(members.contributor)}draft`
  return { name, proposal: { ...proposal, source_branch: name } }
}

/** Creates a draft of the contributor, who opens pull request 1 for it. */
export async function makeOwnProposal(world: Makers & Pick<Cast, 'members'>): Promise<string> {
  const own = ownDraft(world)
  const node = await makeDraft(world, own.name)
  await made(world.members.contributor.post(`/orgs/${world.org}/nodes/${node}/pull-requests`, own.proposal))
  return node
}

export async function makeConnected(world: World): Promise<string> {
  const node = await makeNode(world)
  await made(world.owner.post(`/orgs/${world.org}/nodes/${node}/connections`, { target: world.node, id: 'krill' }))
  return node
}

export const proposal = { source_branch: 'draft', title: 'More' }

export function writing(path: string) {
  return { message: `Write ${path}`, changes: [{ action: 'put', path, content: 'Whales sing.' }] }
}
