/** Addresses of pages and operations, below the path under which a proxy serves the service. */

const segment = encodeURIComponent

/** What stands in place of a slug for the other pages of a node. */
const pagesOfNodes: ReadonlySet<string> = new Set(['history', 'commits', 'blame', 'edit', 'proposals'])

export class Urls {
  /** The path before every other; empty where there is none. */
  readonly root: string
  /** The address of the service, without a slash at its end. */
  readonly base: string

  constructor(root: string, base: string) {
    this.root = root
    this.base = base
  }

  /** The whole address of a path that this class has made. */
  absolute(path: string): string {
    return this.base + path.slice(this.root.length)
  }

  readonly home = () => `${this.root}/`
  readonly asset = (file: string) => `${this.root}/assets/${file}`
  readonly signIn = (next?: string) => `${this.root}/sign-in${next === undefined ? '' : `?next=${segment(next)}`}`
  readonly signUp = (next?: string) => `${this.root}/sign-up${next === undefined ? '' : `?next=${segment(next)}`}`
  readonly signOut = () => `${this.root}/sign-out`
  readonly reset = () => `${this.root}/reset`
  /** With an invitation. */
  readonly join = () => `${this.root}/join`
  readonly newOrg = () => `${this.root}/new`
  readonly me = (page: 'tokens' | 'password') => `${this.root}/me/${page}`
  readonly org = (org: string) => `${this.root}/o/${segment(org)}`
  /** `title`: as a link names it; `from`: the node that the link stands in. */
  readonly newNode = (org: string, fields: { title?: string; parent?: string; from?: string } = {}) => {
    const query = new URLSearchParams(fields)
    return `${this.org(org)}/new${query.size > 0 ? `?${query}` : ''}`
  }
  readonly find = (org: string) => `${this.org(org)}/find`
  readonly graph = (org: string, query: Readonly<Record<string, string>> = {}) => {
    const asked = new URLSearchParams(query).toString()
    return `${this.org(org)}/graph${asked === '' ? '' : `?${asked}`}`
  }
  readonly settings = (org: string, page: 'general' | 'members') => `${this.org(org)}/settings/${page}`
  readonly feed = (org: string) => `${this.org(org)}/changes.atom`
  readonly sitemap = (org: string) => `${this.org(org)}/sitemap.xml`
  readonly node = (org: string, node: string, slug?: string) =>
    `${this.org(org)}/n/${segment(node)}${slug === undefined || pagesOfNodes.has(slug) ? '' : `/${segment(slug)}`}`
  /** Of `main`, or of the branch, tag or commit `at`. */
  readonly history = (org: string, node: string, at = 'main') => `${this.node(org, node)}/history${atRevision(at)}`
  readonly commit = (org: string, node: string, id: string) => `${this.node(org, node)}/commits/${segment(id)}`
  /** As history. */
  readonly blame = (org: string, node: string, at = 'main') => `${this.node(org, node)}/blame${atRevision(at)}`
  readonly edit = (org: string, node: string) => `${this.node(org, node)}/edit`
  readonly proposals = (org: string, node: string) => `${this.node(org, node)}/proposals`
  readonly proposal = (org: string, node: string, number: number) => `${this.proposals(org, node)}/${number}`
  /** The bytes of a file. */
  readonly raw = (org: string, node: string, revision: string, path: string) =>
    `${this.root}/orgs/${segment(org)}/nodes/${segment(node)}/tree/${segment(revision)}/raw/${segment(path)}`
}

function atRevision(revision: string): string {
  return revision === 'main' ? '' : `?at=${segment(revision)}`
}

/** A path of this service to go back to; the home page for anything else. */
export function ownPath(urls: Urls, sent: string | null): string {
  if (sent === null || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(sent)) return urls.home()
  return sent.startsWith(`${urls.root}/`) ? sent : urls.home()
}
