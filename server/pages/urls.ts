/** URLs of pages and the API, below the path where a proxy serves Grove. */

import { segmentOf } from '../base/page-segments.ts'

const segment = encodeURIComponent

/** The pages of an organisation's settings. */
export type SettingsPage = 'general' | 'members' | 'rules' | 'types' | 'webhooks' | 'bots' | 'audit'

export class Urls {
  /** The prefix of every path; '' without a prefix. */
  readonly root: string
  /** The URL of the service, without a trailing slash. */
  readonly base: string
  /** Names of organisations and titles of nodes, by id. */
  private readonly known = new Map<string, string>()
  /** Encoded segments, by id and title. A page has a hundred links to places, and computing a segment takes 5 µs. */
  private readonly segments = new Map<string, string>()

  constructor(root: string, base: string) {
    this.root = root
    this.base = base
  }

  /** Records the name of an organisation or the title of a node. URLs that are built later have it in them. */
  learn(id: string, title: string): void {
    this.known.set(id, title)
  }

  /** Returns the encoded segment of a path that names an organisation or a node. */
  private place(id: string, title = ''): string {
    const key = id + title
    const place = this.segments.get(key) ?? segment(segmentOf(id, title))
    this.segments.set(key, place)
    return place
  }

  /** Returns the absolute URL of a path that this class built. */
  absolute(path: string): string {
    return this.base + path.slice(this.root.length)
  }

  readonly home = () => `${this.root}/`
  readonly asset = (file: string) => `${this.root}/assets/${file}`
  readonly signIn = (next?: string) => `${this.root}/sign-in${next === undefined ? '' : `?next=${segment(next)}`}`
  readonly signUp = (next?: string) => `${this.root}/sign-up${next === undefined ? '' : `?next=${segment(next)}`}`
  readonly signOut = () => `${this.root}/sign-out`
  readonly reset = () => `${this.root}/reset`
  /** The page that confirms an e-mail address. */
  readonly verify = () => `${this.root}/verify`
  /** The page that undoes a change of the e-mail address. */
  readonly undoEmail = () => `${this.root}/undo-email`
  /** The page that asks for a mail with a link to set a new password. */
  readonly forgot = () => `${this.root}/forgot`
  /** The page for joining with an invitation. */
  readonly join = () => `${this.root}/join`
  readonly newOrg = () => `${this.root}/new`
  readonly me = (
    page:
      | 'profile'
      | 'drafts'
      | 'password'
      | 'identities'
      | 'tokens'
      | 'connections'
      | 'sessions'
      | 'notifications'
      | 'inbox'
      | 'inbox.atom',
  ) => `${this.root}/me/${page}`
  /** The page after an account was deleted. */
  readonly goodbye = () => `${this.root}/goodbye`
  /** The pages for administrators of the service. */
  readonly admin = (page: 'accounts' | 'health') => `${this.root}/admin/${page}`
  readonly account = (id: string) => `${this.admin('accounts')}/${segment(id)}`
  readonly newAccount = () => this.account('new')
  /** `name`: the organisation's, if it is not recorded. Without a name, the URL has only the id, and redirects. */
  readonly org = (org: string, name = this.known.get(org)) => `${this.root}/o/${this.place(org, name)}`
  /** The organisation for a member who has just joined. */
  readonly welcome = (org: string, name?: string) => `${this.org(org, name)}?welcome`
  /** `title`: the name in a link. `from`: the node that contains the link. `type`: the name of its type. */
  readonly newNode = (org: string, fields: { title?: string; parent?: string; from?: string; type?: string } = {}) => {
    const query = new URLSearchParams(fields)
    return `${this.org(org)}/new${query.size > 0 ? `?${query}` : ''}`
  }
  /** The list of a node's children, or of the nodes without a parent. */
  readonly subpages = (org: string, node?: string, title?: string) =>
    `${node === undefined ? this.org(org) : this.node(org, node, title)}/subpages`
  readonly find = (org: string) => `${this.org(org)}/find`
  readonly graph = (org: string, query: Readonly<Record<string, string>> = {}) => {
    const asked = new URLSearchParams(query).toString()
    return `${this.org(org)}/graph${asked === '' ? '' : `?${asked}`}`
  }
  /** The table of pages, or of those of one type. */
  readonly table = (org: string, query: Readonly<Record<string, string>> = {}, type?: string) => {
    const asked = new URLSearchParams(query).toString()
    const path = type === undefined ? `${this.org(org)}/nodes` : `${this.org(org)}/types/${segment(type)}`
    return `${path}${asked === '' ? '' : `?${asked}`}`
  }
  /** The pages that break rules of their type. */
  readonly typeProblems = (org: string, type: string) => `${this.table(org, {}, type)}/problems`
  /** Pages as CSV. */
  readonly csv = (org: string, query: Readonly<Record<string, string>>) =>
    `${this.root}/orgs/${segment(org)}/nodes?${new URLSearchParams({ ...query, format: 'csv' })}`
  /** The page that downloads pages. `under`: only this node and its descendants. */
  readonly export = (org: string, under?: string) =>
    `${this.org(org)}/export${under === undefined ? '' : `?under=${segment(under)}`}`
  /** The archive of an export. */
  readonly archive = (org: string, { format, under }: { format: 'zip' | 'tar'; under: string | undefined }) =>
    `${this.root}/orgs/${segment(org)}/export?format=${format}${under === undefined ? '' : `&under=${segment(under)}`}`
  /** The clone URLs of all repositories, as text. */
  readonly cloneUrls = (org: string) => `${this.root}/orgs/${segment(org)}/clone-urls`
  /** A document for programmers. */
  readonly guide = (name: 'git') => `${this.root}/docs/${name}`
  readonly import = (org: string) => `${this.org(org)}/import`
  readonly importRun = (org: string, id: string) => `${this.import(org)}/${segment(id)}`
  readonly settings = (org: string, page: SettingsPage) => `${this.org(org)}/settings/${page}`
  readonly typeSettings = (org: string, type: string) => `${this.org(org)}/settings/types/${segment(type)}`
  readonly bot = (org: string, id: string) => `${this.settings(org, 'bots')}/${segment(id)}`
  readonly webhook = (org: string, id: string) => `${this.settings(org, 'webhooks')}/${segment(id)}`
  /** The delivery of one event to a webhook. */
  readonly delivery = (org: string, webhook: string, id: string) => `${this.webhook(org, webhook)}/${segment(id)}`
  /** The proposals of all nodes. */
  readonly orgProposals = (org: string) => `${this.org(org)}/proposals`
  /** A proposal of several nodes. `node`: shows only this one. */
  readonly changeSet = (org: string, number: number, node?: string) =>
    `${this.orgProposals(org)}/${number}${node === undefined ? '' : `?page=${segment(node)}`}`
  /** A node among those of a proposal. */
  readonly inSet = (org: string, number: number, node: string) => `${this.changeSet(org, number)}#page-${node}`
  /** The deleted nodes. */
  readonly trash = (org: string) => `${this.org(org)}/trash`
  /** The recent changes of all nodes. `before`: where the page before ended. */
  readonly changes = (org: string, before?: string) =>
    `${this.org(org)}/changes${before === undefined ? '' : `?before=${segment(before)}`}`
  /** The activity of an organisation, for its members. */
  readonly activity = (org: string) => `${this.org(org)}/activity`
  /** All tags, or the pages of one. */
  readonly tags = (org: string, tag?: string) =>
    `${this.org(org)}/tags${tag === undefined ? '' : `?tag=${segment(tag)}`}`
  readonly members = (org: string) => `${this.org(org)}/members`
  /** The form that creates the example pages. */
  readonly example = (org: string) => `${this.org(org)}/example`
  /** The changes of the organisation's nodes, or of those that match a filter. */
  readonly feed = (org: string, where?: string) => `${this.org(org)}/changes.atom${this.whereOf(where)}`
  readonly whereOf = (where?: string) => (where === undefined ? '' : `?where=${segment(where)}`)
  readonly sitemap = (org: string) => `${this.org(org)}/sitemap.xml`
  /** `title`: as `name` for an organisation. */
  readonly node = (org: string, node: string, title = this.known.get(node)) =>
    `${this.org(org)}/${this.place(node, title)}`
  /** The id of a feed, or of a node's entry in it. Readers show an entry with another id as new, so it never changes. */
  readonly feedId = (org: string, node?: string) =>
    `${this.base}/o/${segment(org)}${node === undefined ? '' : `/n/${segment(node)}`}`
  /** `at`: a branch, tag or commit. */
  readonly history = (org: string, node: string, at = 'main') => `${this.node(org, node)}/history${atRevision(at)}`
  /** The activity of a node and its proposals, for members. */
  readonly nodeActivity = (org: string, node: string) => `${this.node(org, node)}/activity`
  readonly commit = (org: string, node: string, id: string, title?: string) =>
    `${this.node(org, node, title)}/commits/${segment(id)}`
  /** The form that restores a commit of `branch`. */
  readonly restore = (org: string, node: string, id: string, branch = 'main') =>
    `${this.commit(org, node, id)}/restore${branch === 'main' ? '' : `?branch=${segment(branch)}`}`
  /** The node at a commit. */
  readonly version = (org: string, node: string, id: string) => `${this.node(org, node)}?at=${segment(id)}`
  /** The comparison of two branches, tags or commits; without them, its form. */
  readonly compare = (org: string, node: string, from?: string, to = 'main') =>
    `${this.node(org, node)}/compare${from === undefined ? '' : `?${new URLSearchParams({ from, to })}`}`
  /** `at`: as for `history`. */
  readonly blame = (org: string, node: string, at = 'main') => `${this.node(org, node)}/blame${atRevision(at)}`
  /** The offer to write the new title in links. `from`: the title before. */
  readonly rename = (org: string, node: string, from: string, offset = 0) =>
    `${this.node(org, node)}/rename?from=${segment(from)}${offset > 0 ? `&offset=${offset}` : ''}`
  /** `branch`: of an open proposal. */
  readonly edit = (org: string, node: string, branch = 'main') =>
    `${this.node(org, node)}/edit${branch === 'main' ? '' : `?branch=${segment(branch)}`}`
  /** The editor with a draft. */
  readonly draft = (org: string, draft: { id: string; node_id: string; is_new: boolean; branch: string }) => {
    const base = draft.is_new ? this.newNode(org) : this.edit(org, draft.node_id, draft.branch)
    return `${base}${base.includes('?') ? '&' : '?'}draft=${draft.id}`
  }
  /** The settings of one node. `section`: the anchor in the page. */
  readonly nodeSettings = (org: string, node: string, section?: string) =>
    `${this.node(org, node)}/settings${section === undefined ? '' : `#${section}`}`
  /** The pages that link to a node. */
  readonly backlinks = (org: string, node: string) => `${this.node(org, node)}/backlinks`
  readonly proposals = (org: string, node: string, title?: string) => `${this.node(org, node, title)}/proposals`
  /** A proposal of a page, or of several pages if the node is the organisation. */
  readonly proposal = (org: string, node: string, number: number, title?: string) =>
    node === org ? this.changeSet(org, number) : `${this.proposals(org, node, title)}/${number}`
  readonly resolve = (org: string, node: string, number: number) => `${this.proposal(org, node, number)}/resolve`
  readonly undo = (org: string, node: string, number: number) => `${this.proposal(org, node, number)}/undo`
  /** The raw bytes of a file. */
  readonly raw = (org: string, node: string, revision: string, path: string) =>
    `${this.root}/orgs/${segment(org)}/nodes/${segment(node)}/tree/${segment(revision)}/raw/${segment(path)}`
}

function atRevision(revision: string): string {
  return revision === 'main' ? '' : `?at=${segment(revision)}`
}

/** Returns `sent` if it is a path of this service, else the home page. Prevents open redirects. */
export function ownPath(urls: Urls, sent: string | null): string {
  if (sent === null || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(sent)) return urls.home()
  return sent.startsWith(`${urls.root}/`) ? sent : urls.home()
}
