/** Every page, in one table, over a scene that has something to show on each: a new page is a line here. */

import { updateAccount } from '../../server/domain/accounts/administration.ts'
import { operator } from '../../server/domain/actor.ts'
import { fieldKinds, schemaOf } from '../../server/pages/field-kinds.ts'
import { made, makeBotToken, makeDelivery } from '../support/cast.ts'
import { connectProgram, register } from '../support/connector.ts'
import type { Grove } from '../support/grove.ts'
import { pageAt } from '../support/pages.ts'
import type { PersonClient } from '../support/people.ts'
import { imported, makeHalfSentImport, zipOf } from '../support/uploads.ts'

export interface ShownPage {
  readonly name: string
  readonly path: string
  /** Default: a person who has signed in. */
  readonly isAnonymous?: boolean
}

/** An organisation with nodes, an edge, and three proposals: open, diverged, merged. */
export async function listPages(grove: Pick<Grove, 'url' | 'deps'>, ann: PersonClient): Promise<ShownPage[]> {
  await updateAccount(
    { ...grove.deps, actor: operator },
    { path: { account_id: ann.user.id }, body: { is_admin: true } },
  )
  const account = (
    await made(ann.post('/admin/accounts', { email: 'long.name@example.org', name: 'Long '.repeat(30) }))
  ).account.id
  const reason = { disabled: true, disabled_reason: 'Left the company. '.repeat(20) }
  await made(ann.patch(`/admin/accounts/${account}`, reason))
  const { id: org } = await made(
    ann.post('/orgs', { name: 'Atlas', description: 'What lives in the sea.', published: true }),
  )
  const nodeOf = async (title: string, text_content: string) =>
    (await made(ann.post(`/orgs/${org}/nodes`, { title, text_content, tags: ['sea', `life/${title.slice(0, 20)}`] })))
      .id as string
  const krill = await nodeOf('Krill', 'Small crustaceans.')
  const begun = { node_id: krill, title: 'Krill of the deep', text_content: 'Small', expected_version: null }
  await made(ann.put(`/orgs/${org}/drafts/${krill}`, begun))
  const whales = await nodeOf('Whales', '# Whales\n\nLarge mammals that eat [[Krill]].\n\n## Where\n\nIn the sea.\n')
  await made(ann.put(`/orgs/${org}/nodes/${krill}/parents/${whales}`, {}))
  const shrimp = await nodeOf('Prawns', 'Ten legs.')
  const menu = await nodeOf('Menu', 'Whales would order **fried** [[Prawns|prawns]]. So would we.\n')
  const link = { id: 'prawns', target: shrimp, type: 'links_to' }
  await made(ann.post(`/orgs/${org}/nodes/${menu}/connections`, link))
  await made(ann.patch(`/orgs/${org}/nodes/${shrimp}`, { title: 'Shrimp' }))
  const media = await mediaNode(ann, org)
  const tree = `/orgs/${org}/nodes/${whales}`
  const commit = (branch: string, path: string, content: string) =>
    made(
      ann.post(`${tree}/tree/${branch}/commits`, {
        message: `Change ${path}`,
        changes: [{ action: 'put', path, content }],
      }),
    )
  const propose = async (branch: string, path: string, content: string) => {
    await made(ann.post(`${tree}/branches`, { name: branch }))
    await commit(branch, path, content)
    await made(ann.post(`${tree}/pull-requests`, { source_branch: branch, title: `Say more: ${branch}` }))
  }
  await propose('diverged', 'notes.md', 'A note.\n')
  const edge = JSON.stringify({ target: krill, type: 'feeds_on', label: 'mostly' })
  await propose('merged', 'more.md', 'More.\n')
  await made(ann.post(`${tree}/pull-requests/2/merge`, {}))
  await propose('open', 'connections/eats.json', edge)
  await made(ann.post(`${tree}/pull-requests/3/comments`, { text: 'Only **some** of them?' }))
  const reviewed = (await made(ann.get(`${tree}/pull-requests/3`))).pr.source_commit
  const review = { verdict: 'comment', text: 'Only these two.', expected_source_commit: reviewed }
  await made(ann.post(`${tree}/pull-requests/3/reviews`, review))
  await addErased(ann, `${tree}/pull-requests/1`)
  const strict = { approvals: 2, by: { role: 'maintainer' }, checks: [{ name: 'links' }], resolved: true }
  const rules = [
    { branches: ['release/**', `${'very-'.repeat(30)}long`], under: whales, ...strict },
    { branches: ['next'], merge: 'owner' },
  ]
  await made(ann.patch(`/orgs/${org}`, { rules }))
  const { webhook_id, delivery_id } = await makeDelivery({ org, owner: ann })
  const hooks = `${pageAt(org)}/settings/webhooks`
  const { bot_id } = await makeBotToken({ org, owner: ann })
  const bots = `${pageAt(org)}/settings/bots`
  const types = await addTypes(ann, org)
  const proposed = (await made(ann.get(`${tree}/branches/open`))).head
  const checks = `${tree}/checks/${proposed}`
  const failed = { state: 'failure', description: 'A link in notes.md leads nowhere', url: 'https://ci.example.org/7' }
  await made(ann.put(`${checks}/links`, failed))
  await made(ann.put(`${checks}/spelling`, { state: 'pending' }))
  for (let n = 1; n <= 6; n++) await made(ann.put(`${checks}/build/${n}`, { state: 'success', description: 'Built' }))
  await propose('suggested', 'song.md', 'Whales sing.\n\nThey eat fish and krill.\n')
  const { source_commit } = (await made(ann.get(`${tree}/pull-requests/4`))).pr
  for (const [exact, suggestion] of [
    ['fish and krill', 'krill, mostly'],
    ['sing', ''],
    ['Whales sing.', '# They sing.\n\nOften.'],
  ]) {
    const anchor = { commit: source_commit, path: 'song.md', quote: { exact } }
    await made(ann.post(`${tree}/pull-requests/4/comments`, { text: 'A *book* says so.', suggestion, anchor }))
  }
  const applied = { comments: [1], expected_source_commit: source_commit }
  await made(ann.post(`${tree}/pull-requests/4/suggestions`, applied))
  await propose('conflict', 'content.md', '# Whales\n\nLarge mammals that eat fish.\n')
  await commit('main', 'content.md', '# Whales\n\nLarge mammals that eat [[Krill]] and squid.\n')
  const [held, overridden] = await ruledProposals(ann)
  const set = `${pageAt(org)}/proposals/${await addChangeSet(ann, org, { whales, shrimp, menu })}`
  const { kitchen, leek, tart, olga } = await typedPages(ann)
  // Its bar is on all pages of the kitchen.
  const draft = { title: 'Soups of the north', is_draft: true, nodes: [{ title: 'Borscht', text_content: 'Red.\n' }] }
  await made(ann.post(`/orgs/${kitchen}/change-sets`, draft))
  const commits = (await made(ann.get(`${tree}/tree/main/commits`))).history
  const [head, first] = [commits.at(0).id, commits.at(-1).id]
  const at = pageAt(org, whales)
  const { id: empty } = await made(ann.post('/orgs', { name: 'Empty' }))
  const gone = await nodeOf('A whale of a title: <b>bold</b> & "quoted", '.repeat(6), 'Gone.')
  await made(ann.delete(`/orgs/${org}/nodes/${gone}`))
  const notes = { 'Field notes/seals.md': 'They eat [[Fish]].\n', 'Field notes/sea.canvas': '[]' }
  const report = (await imported(ann, org, await zipOf(notes))).id
  const { id: other } = await made(ann.post('/orgs', { name: 'Bays' }))
  await connectProgram(grove, ann)
  const consent = `/oauth/authorize?${new URLSearchParams((await register(grove)).request)}`
  const running = await makeHalfSentImport(grove, ann, other)
  return [
    { name: 'welcome', path: '/', isAnonymous: true },
    { name: 'sign-in', path: '/sign-in', isAnonymous: true },
    { name: 'sign-up', path: '/sign-up', isAnonymous: true },
    { name: 'reset', path: '/reset', isAnonymous: true },
    { name: 'forgot', path: '/forgot', isAnonymous: true },
    { name: 'verify', path: '/verify', isAnonymous: true },
    { name: 'undo-email', path: '/undo-email', isAnonymous: true },
    { name: 'unsubscribe', path: '/unsubscribe', isAnonymous: true },
    { name: 'home', path: '/' },
    { name: 'new', path: '/new' },
    { name: 'organisation', path: pageAt(org) },
    { name: 'organisation-public', path: pageAt(org), isAnonymous: true },
    { name: 'organisation-joined', path: `${pageAt(org)}?welcome` },
    { name: 'organisation-empty', path: `${pageAt(empty)}?welcome` },
    { name: 'changes', path: `${pageAt(org)}/changes` },
    { name: 'changes-public', path: `${pageAt(org)}/changes`, isAnonymous: true },
    { name: 'activity', path: `${pageAt(org)}/activity` },
    { name: 'activity-people', path: `${pageAt(org)}/activity?show=people` },
    { name: 'activity-gone', path: `${pageAt(org)}/activity?before=1-0000000000000000` },
    { name: 'node-activity', path: `${at}/activity?show=proposals` },
    { name: 'people', path: `${pageAt(org)}/members` },
    { name: 'table', path: `${pageAt(org)}/nodes` },
    { name: 'table-filtered', path: `${pageAt(org)}/nodes?where=tag:sea+titel:x&sort=-title`, isAnonymous: true },
    { name: 'table-wrong', path: `${pageAt(org)}/nodes?where=tag:sea+)` },
    { name: 'table-empty', path: `${pageAt(empty)}/nodes` },
    { name: 'type-table', path: `${pageAt(kitchen)}/types/recipe` },
    { name: 'type-table-public', path: `${pageAt(kitchen)}/types/recipe?where=course:soup`, isAnonymous: true },
    { name: 'type-problems', path: `${pageAt(kitchen)}/types/recipe/problems` },
    { name: 'node-typed', path: pageAt(kitchen, leek) },
    { name: 'node-typed-broken', path: pageAt(kitchen, tart) },
    { name: 'node-typed-target', path: pageAt(kitchen, olga), isAnonymous: true },
    { name: 'fields', path: `${pageAt(kitchen, leek)}/fields` },
    { name: 'new-typed', path: `${pageAt(kitchen)}/new?type=recipe` },
    { name: 'fields-broken', path: `${pageAt(kitchen, tart)}/fields` },
    { name: 'table-with-types', path: `${pageAt(kitchen)}/nodes` },
    { name: 'tags', path: `${pageAt(org)}/tags` },
    { name: 'tags-filtered', path: `${pageAt(org)}/tags?filter=none`, isAnonymous: true },
    { name: 'tag', path: `${pageAt(org)}/tags?tag=life` },
    { name: 'find', path: `${pageAt(org)}/find?q=krill` },
    { name: 'find-start', path: `${pageAt(org)}/find` },
    { name: 'find-none', path: `${pageAt(org)}/find?q=zzzz&tag=sea&since=2026-01-01` },
    { name: 'node', path: at },
    { name: 'node-with-media', path: pageAt(org, media) },
    { name: 'node-at-commit', path: `${at}?at=${first}` },
    { name: 'backlinks', path: `${pageAt(org, shrimp)}/backlinks` },
    { name: 'node-with-backlinks', path: pageAt(org, shrimp) },
    { name: 'subpages', path: `${at}/subpages` },
    { name: 'subpages-filtered', path: `${pageAt(org)}/subpages?filter=whale&open=${whales}` },
    { name: 'edit', path: `${at}/edit` },
    { name: 'edit-continued', path: `${pageAt(org, krill)}/edit?draft=${krill}` },
    { name: 'edit-proposal', path: `${at}/edit?branch=open` },
    { name: 'edit-redo', path: `${at}/edit?redo=diverged` },
    { name: 'node-as-proposed', path: `${at}?at=open` },
    { name: 'new-node', path: `${pageAt(org)}/new` },
    { name: 'new-node-twin', path: `${pageAt(org)}/new?title=Krill&from=${whales}` },
    { name: 'rename', path: `${pageAt(org, shrimp)}/rename?from=Prawns` },
    { name: 'graph', path: `${pageAt(org)}/graph` },
    { name: 'org-proposals', path: `${pageAt(org)}/proposals?status=all` },
    { name: 'change-set', path: set },
    { name: 'change-set-page', path: `${set}?page=${whales}` },
    { name: 'change-set-draft', path: `${pageAt(kitchen)}/proposals/1` },
    { name: 'node-settings-draft', path: `${pageAt(kitchen, leek)}/settings` },
    { name: 'edit-draft', path: `${pageAt(kitchen, leek)}/edit` },
    { name: 'change-set-impact', path: `${set}?tab=impact` },
    { name: 'change-set-conversation', path: `${set}?tab=conversation` },
    { name: 'history', path: `${at}/history` },
    { name: 'commit', path: `${at}/commits/${head}` },
    { name: 'commit-first', path: `${at}/commits/${first}` },
    { name: 'compare', path: `${at}/compare?from=${first}&to=main` },
    { name: 'compare-diverged', path: `${at}/compare?from=diverged&to=open` },
    { name: 'compare-unknown', path: `${at}/compare?from=nowhere&to=main` },
    { name: 'compare-public', path: `${at}/compare?from=${first}`, isAnonymous: true },
    { name: 'restore', path: `${at}/commits/${first}/restore` },
    { name: 'blame', path: `${at}/blame` },
    { name: 'proposals', path: `${at}/proposals` },
    { name: 'proposal-diverged', path: `${at}/proposals/1` },
    { name: 'proposal-merged', path: `${at}/proposals/2` },
    { name: 'proposal-open', path: `${at}/proposals/3` },
    { name: 'proposal-conversation', path: `${at}/proposals/3?tab=conversation` },
    { name: 'proposal-suggestions', path: `${at}/proposals/4` },
    { name: 'proposal-suggesting', path: `${at}/proposals/4?at=song.md:3-3&suggest=` },
    { name: 'proposal-conversation-suggestions', path: `${at}/proposals/4?tab=conversation` },
    { name: 'proposal-erase-comment', path: `${at}/proposals/3?tab=conversation&erase=1` },
    { name: 'proposal-erase-review', path: `${at}/proposals/3?tab=conversation&erase=2` },
    { name: 'proposal-erased', path: `${at}/proposals/1?tab=conversation` },
    { name: 'proposal-commits', path: `${at}/proposals/3?tab=commits` },
    { name: 'proposal-conflict', path: `${at}/proposals/5` },
    { name: 'proposal-resolve', path: `${at}/proposals/5/resolve` },
    { name: 'proposal-held-up', path: held },
    { name: 'proposal-overridden', path: overridden },
    { name: 'settings', path: `${pageAt(org)}/settings/general` },
    { name: 'members', path: `${pageAt(org)}/settings/members` },
    { name: 'rules', path: `${pageAt(org)}/settings/rules` },
    { name: 'audit', path: `${pageAt(org)}/settings/audit` },
    { name: 'audit-filter', path: `${pageAt(org)}/settings/audit?action=invitation.created&actor=operator` },
    { name: 'rules-form', path: `${pageAt(org)}/settings/rules?rule=new` },
    { name: 'types', path: types },
    { name: 'type-new', path: `${types}/new?name=recipie` },
    { name: 'type', path: `${types}/recipe` },
    { name: 'type-json', path: `${types}/recipe?as=json` },
    { name: 'type-large', path: `${types}/large` },
    { name: 'bots', path: bots },
    { name: 'bot', path: `${bots}/${bot_id}` },
    { name: 'webhooks', path: hooks },
    { name: 'webhook', path: `${hooks}/${webhook_id}` },
    { name: 'webhook-delivery', path: `${hooks}/${webhook_id}/${delivery_id}` },
    { name: 'trash', path: `${pageAt(org)}/trash?deleted=${gone}` },
    { name: 'node-settings', path: `${at}/settings?parent=krill&target=krill` },
    { name: 'export', path: `${pageAt(org)}/export` },
    { name: 'export-page', path: `${pageAt(org)}/export?under=${whales}`, isAnonymous: true },
    { name: 'import', path: `${pageAt(org)}/import` },
    { name: 'import-report', path: `${pageAt(org)}/import/${report}` },
    { name: 'import-running', path: `${pageAt(other)}/import/${running}` },
    { name: 'docs', path: '/docs', isAnonymous: true },
    { name: 'docs-signed-in', path: '/docs' },
    { name: 'join', path: '/join', isAnonymous: true },
    { name: 'join-signed-in', path: '/join' },
    { name: 'profile', path: '/me/profile' },
    { name: 'password', path: '/me/password' },
    { name: 'tokens', path: '/me/tokens' },
    { name: 'inbox', path: '/me/inbox' },
    { name: 'notifications', path: '/me/notifications' },
    { name: 'connections', path: '/me/connections' },
    { name: 'consent', path: consent },
    { name: 'identities', path: '/me/identities' },
    { name: 'sessions', path: '/me/sessions' },
    { name: 'drafts', path: '/me/drafts' },
    { name: 'goodbye', path: '/goodbye', isAnonymous: true },
    { name: 'admin-accounts', path: '/admin/accounts' },
    { name: 'admin-accounts-none', path: '/admin/accounts?q=nobody&state=disabled' },
    { name: 'admin-account-new', path: '/admin/accounts/new' },
    { name: 'admin-account', path: `/admin/accounts/${account}` },
    { name: 'admin-account-own', path: `/admin/accounts/${ann.user.id}` },
    { name: 'admin-health', path: '/admin/health' },
    { name: 'missing', path: '/o/none' },
  ]
}

/** A change set with a new page, a change, a deletion, and eleven pages in all. Returns its number. */
async function addChangeSet(
  ann: PersonClient,
  org: string,
  pages: Readonly<Record<'whales' | 'shrimp' | 'menu', string>>,
) {
  const nodes = [
    { ref: 'food', title: 'Food', text_content: '## Small\n\nSmall [things](https://example.org).\n', tags: ['sea'] },
    { id: pages.whales, properties: { size: 'large' }, connections: [{ target: 'food', type: 'feeds_on' }] },
    { id: pages.shrimp, parents: ['food'], text_content: 'Ten legs, and two eyes.\n' },
    ...Array.from({ length: 8 }, (_, at) => ({ title: `Fish ${at} ${'of the sea '.repeat(at)}`, parents: ['food'] })),
  ]
  const body = {
    title: 'Food of whales',
    description: 'From *two* books.',
    nodes,
    deletions: [{ node_id: pages.menu }],
  }
  const { number, items } = (await made(ann.post(`/orgs/${org}/change-sets`, body))).change_set
  const item = items.find(({ node_id }: { node_id: string }) => node_id === pages.whales)
  const at = `/orgs/${org}/nodes/${pages.whales}/pull-requests/${item.number}`
  await made(ann.post(`${at}/comments`, { text: `Which *book*? ${'word '.repeat(40)}` }))
  return number as number
}

/** Types with a field of each kind and with 100 fields, and nodes that break their rules. Returns the page of types. */
async function addTypes(ann: PersonClient, org: string): Promise<string> {
  const hostile = `<script>"x"</script> ${'long'.repeat(19)}`
  const schemas = [
    ...fieldKinds.map((kind) =>
      schemaOf(kind, { ...noFacts, choices: kind.choices === 'numbers' ? [1, 2] : ['a', 'b'] }),
    ),
    { type: 'object', properties: { width: { type: 'number' } } },
    { type: 'integer', title: hostile, description: hostile, minimum: 1, maximum: 9, default: 4 },
  ]
  const recipe = {
    ...{ title: 'Recipe', plural: 'Recipes', aliases: ['recipes'], enforcement: 'strict' },
    schema: { required: ['f0'], properties: Object.fromEntries(schemas.map((schema, n) => [`f${n}`, schema])) },
    connections: { written_by: { title: hostile, inverse: 'Wrote', to: ['person'], max: 1 } },
    parents: { types: ['collection'], max: 1 },
    template: { text_content: '## Method\n', tags: ['food'], properties: { f0: 'Soup' } },
    columns: ['f0', '->written_by'],
  }
  const fields = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`field-${n}`, { type: 'string' }]))
  const large = { title: hostile, schema: { properties: fields } }
  await made(ann.post(`/orgs/${org}/nodes`, { title: 'Borscht', properties: { type: 'Recipe', f2: 'two' } }))
  await made(ann.post(`/orgs/${org}/nodes`, { title: 'Toast', properties: { type: 'recipie' } }))
  await made(ann.put(`/orgs/${org}/types/recipe`, { definition: recipe }))
  await made(ann.put(`/orgs/${org}/types/large`, { definition: large }))
  return `${pageAt(org)}/settings/types`
}

const noFacts = { label: '', help: '', choices: [], least: undefined, most: undefined }

/** A comment, an answer and a review that are erased, with the reasons. */
async function addErased(ann: PersonClient, pull: string): Promise<void> {
  const { source_commit } = (await made(ann.get(pull))).pr
  await made(ann.post(`${pull}/comments`, { text: 'Ask Zed, room 12.' }))
  await made(ann.post(`${pull}/comments`, { text: 'Zed has left.', thread: 1 }))
  const review = { verdict: 'comment', text: 'Zed wrote this.', expected_source_commit: source_commit }
  await made(ann.post(`${pull}/reviews`, review))
  for (const entry of [1, 2, 3])
    await made(ann.post(`${pull}/entries/${entry}/erase`, { reason: 'It names a user. '.repeat(entry) }))
}

/** A node that embeds whatever can be embedded. */
async function mediaNode(ann: PersonClient, org: string): Promise<string> {
  const embedded = { title: 'Squid', text_content: '## Arms\n\nTen.\n', properties: { source_path: 'Squid.md' } }
  await made(ann.post(`/orgs/${org}/nodes`, embedded))
  const files = {
    'a.svg': '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 200"><rect width="300" height="200"/></svg>',
    'a.wav': 'RIFF\0\0\0\0WAVEfmt ',
    'a.mp4': '\0\0\0\x20ftypisom',
    'a.pdf': '%PDF-1.7',
  }
  const embeds = ['Squid', 'Squid#Arms', 'Nobody', ...Object.keys(files), 'a.svg|A drawing', 'gone.png']
  const diagram = '```mermaid\nflowchart LR\n  A --> B\n```'
  const elsewhere = '![A picture](https://example.org/a.png)'
  const text_content = [...embeds.map((one) => `![[${one}]]`), 'Text ![[a.svg|18]]', elsewhere, diagram].join('\n\n')
  const { id } = await made(ann.post(`/orgs/${org}/nodes`, { title: 'Media', text_content }))
  const changes = Object.entries(files).map(([path, content]) => ({
    ...{ action: 'put', path, encoding: 'base64', content: Buffer.from(content, 'latin1').toString('base64') },
  }))
  await made(ann.post(`/orgs/${org}/nodes/${id}/tree/main/commits`, { message: 'Files', changes }))
  return id
}

/** An organisation with a type, and nodes that follow and break its rules. */
async function typedPages(ann: PersonClient): Promise<Record<'kitchen' | 'leek' | 'tart' | 'olga', string>> {
  const { id: kitchen } = await made(ann.post('/orgs', { name: 'Kitchen', published: true }))
  const definition = {
    ...{ title: 'Recipe', plural: 'Recipes', columns: ['serves', 'course', 'vegan', 'due', '->written_by'] },
    schema: {
      required: ['serves'],
      properties: {
        serves: { type: 'integer', minimum: 1, title: 'Serves' },
        course: { type: 'string', enum: ['soup', 'main', 'sweet'], title: 'Course' },
        vegan: { type: 'boolean', title: 'Vegan' },
        due: { type: 'string', format: 'date', title: 'Cooked by' },
        steps: { type: 'array', items: { type: 'string' }, title: 'Steps' },
        source: { type: 'string', format: 'uri', title: 'A long label, which says where the recipe was found' },
      },
    },
    connections: { written_by: { title: 'Author', to: ['person'], inverse: 'Wrote' } },
  }
  await made(ann.put(`/orgs/${kitchen}/types/recipe`, { definition }))
  await made(ann.put(`/orgs/${kitchen}/types/person`, { definition: { title: 'Person' } }))
  const nodeOf = async (title: string, properties: object): Promise<string> =>
    (await made(ann.post(`/orgs/${kitchen}/nodes`, { title, properties }))).id
  const olga = await nodeOf('Olga', { type: 'person' })
  const leek = await nodeOf('Leek soup', {
    ...{ type: 'recipe', serves: 4, course: 'soup', vegan: true, due: '2026-12-01', season: 'winter' },
    ...{ steps: ['Chop the leeks', 'Boil them'], source: 'https://example.org/soups/leek' },
  })
  await made(ann.post(`/orgs/${kitchen}/nodes/${leek}/connections`, { target: olga, type: 'written_by' }))
  const tart = await nodeOf('Tart', { type: 'recipe', course: 'cake', due: 'soon' })
  return { kitchen, leek, tart, olga }
}

/** Two proposals under rules: one that they hold up, and one that was merged in spite of them. */
async function ruledProposals(ann: PersonClient): Promise<readonly [string, string]> {
  const checks = [{ name: 'links' }, { name: `build/${'very-'.repeat(15)}long` }]
  const rules = [{ branches: ['main'], pages: 'existing', approvals: 2, checks, resolved: true, merge: 'maintainer' }]
  const { id: org } = await made(ann.post('/orgs', { name: 'Ruled', rules }))
  const { id } = await made(ann.post(`/orgs/${org}/nodes`, { title: 'Seals', text_content: 'Seals.' }))
  const at = `/orgs/${org}/nodes/${id}`
  for (const name of ['held', 'overridden']) {
    await made(ann.post(`${at}/branches`, { name }))
    const changes = [{ action: 'put', path: `${name}.md`, content: 'More.' }]
    const { id: head } = await made(ann.post(`${at}/tree/${name}/commits`, { message: 'Say more', changes }))
    await made(ann.post(`${at}/pull-requests`, { source_branch: name, title: `Say more: ${name}` }))
    await made(ann.put(`${at}/checks/${head}/links`, { state: 'failure' }))
  }
  await made(ann.post(`${at}/pull-requests/1/comments`, { text: 'Why?' }))
  await made(ann.post(`${at}/pull-requests/2/merge`, { override: { reason: 'It goes to print at noon. '.repeat(9) } }))
  return [`${pageAt(org, id)}/proposals/1`, `${pageAt(org, id)}/proposals/2`]
}
