/** The table of the kernel's pages, and the steps of each request for a page. */

import type { Request, RequestHandler, Response } from 'express'
import type { Api } from '../../spec/client/api.ts'
import { AppError, ValidationError } from '../base/errors.ts'
import * as limits from '../base/limits.ts'
import { idIn } from '../base/page-segments.ts'
import { decodePercent } from '../base/percent-encoding.ts'
import { bearerToken, type FindCredential } from '../http/authentication.ts'
import type { BrowserCookies } from '../http/browser-cookies.ts'
import { baseUrl, publicPath } from '../http/connection/base-url.ts'
import type { Consents } from '../http/consents.ts'
import { readForm } from '../http/contract/bodies.ts'
import { showErrorsBy } from '../http/contract/error-responses.ts'
import { hasUploads, readUploads } from '../http/contract/multipart.ts'
import { findPath } from '../http/contract/spec.ts'
import { openUpload } from '../http/contract/uploads.ts'
import { type Answering, type Credential, createInProcessApi, readTitles } from '../http/in-process.ts'
import { note } from '../http/log/request-notes.ts'
import { oidcVisit } from '../http/oidc/visit.ts'

import { pageReads, pageTurn } from '../http/page-turns.ts'
import { matchPath, type PathTemplate, parseTemplate, segmentsOf } from '../http/path-templates.ts'
import type { CountRequest } from '../http/rate-limits.ts'
import { sendAsset } from './assets.ts'
import { isFromPage, isNavigation } from './cookie-auth.ts'
import { diagramFrame, sendDiagramFrame } from './diagram-frame.ts'
import { noPageError, type PageContext, type PageResult } from './page-context.ts'
import { showNodeActivity, showOrgActivity } from './pages/activity.tsx'
import { accountPage } from './pages/admin-account.tsx'
import { accountsPage, leadToAdmin, newAccountPage } from './pages/admin-accounts.tsx'
import { showHealth } from './pages/admin-health.tsx'
import { showBacklinks } from './pages/backlinks.tsx'
import { showBlame } from './pages/blame.tsx'
import { showChangeSet, takeChangeSet } from './pages/change-set.tsx'
import { showCompare } from './pages/compare.tsx'
import { showDocs } from './pages/docs.tsx'
import { showEdit, takeEdit } from './pages/edit.tsx'
import { showFavicon, showFeed, showRobots, showSitemap } from './pages/feeds.ts'
import { showFind } from './pages/find.tsx'
import { showForgot, takeForgot } from './pages/forgot.tsx'
import { showCommit, showHistory } from './pages/history.tsx'
import { showHome } from './pages/home.tsx'
import { identitiesPage } from './pages/identities.tsx'
import { leadToJoin, showJoin, takeJoin } from './pages/join.tsx'
import { membersPage } from './pages/members.tsx'
import { errorPage } from './pages/missing.tsx'
import { showNew, takeNew } from './pages/new-node.tsx'
import { showNode } from './pages/node.tsx'
import { showNodeSettings, takeNodeSettings } from './pages/node-settings.tsx'
import { showOidc, showOidcCallback } from './pages/oidc.tsx'
import { showOrg, takeExample } from './pages/org.tsx'
import { showOrgChanges } from './pages/org-changes.tsx'
import { showOrgProposals } from './pages/org-proposals.tsx'
import { rulesPage } from './pages/org-rules.tsx'
import { generalPage, newOrgPage } from './pages/org-settings.tsx'
import { passwordPage } from './pages/password.tsx'
import { showPeople } from './pages/people.tsx'
import { profilePage, showGoodbye } from './pages/profile.tsx'
import { showProposal, takeProposal } from './pages/proposal.tsx'
import { showProposals } from './pages/proposal-list.tsx'
import { showRename, takeRename } from './pages/rename.tsx'
import { showResolve, takeResolve } from './pages/resolve.tsx'
import { showRestore, takeRestore } from './pages/restore.tsx'
import { sessionsPage } from './pages/sessions.tsx'
import { showReset, showSignIn, showSignUp, takeReset, takeSignIn, takeSignOut, takeSignUp } from './pages/sign-in.tsx'
import { showSubpages } from './pages/subpages.tsx'
import { showTable } from './pages/table.tsx'
import { showTags } from './pages/tags.tsx'
import { tokensPage } from './pages/tokens.tsx'
import { showTrash, takeTrash } from './pages/trash.tsx'
import { showUndo, takeUndo } from './pages/undo.tsx'
import { showUndoEmail, showVerify, takeUndoEmail, takeVerify } from './pages/verify.tsx'
import { pageHtml, sendResult, setPageHeaders } from './render.tsx'
import { markOpened, readUnread } from './unread.ts'
import { Urls } from './urls.ts'

type MakePage = (visit: PageContext) => Promise<PageResult>

export interface PageRoute {
  /** Path template. */
  readonly at: string
  readonly show?: MakePage
  /** True if the path must have the words of its titles. Without them, or with others, it redirects. */
  readonly hasWords?: boolean
  /** True if opening the page reads the items of the inbox about it. */
  readonly isOpening?: boolean
  /** Handles a form that was sent. */
  readonly take?: MakePage
  /** True if the page itself reads the form, as a stream. */
  readonly isStreamed?: boolean
  /** Limit of the form's body in bytes, if the default is too small. */
  readonly formBytes?: number
  /** True if the form may have files. */
  readonly hasUploads?: boolean
  /** True if mail programs send the form. The URL has its secret, and it acts for nobody else. */
  readonly isOneClick?: boolean
}

const routes: readonly PageRoute[] = [
  { at: '/', show: showHome },
  { at: '/sign-in', show: showSignIn, take: takeSignIn },
  { at: '/sign-in/oidc/{provider}', show: showOidc },
  { at: '/sign-in/oidc/{provider}/callback', show: showOidcCallback },
  { at: '/sign-up', show: showSignUp, take: takeSignUp },
  { at: '/reset', show: showReset, take: takeReset },
  { at: '/verify', show: showVerify, take: takeVerify },
  { at: '/undo-email', show: showUndoEmail, take: takeUndoEmail },
  { at: '/forgot', show: showForgot, take: takeForgot },
  { at: '/sign-out', take: takeSignOut },
  { at: '/robots.txt', show: showRobots },
  { at: '/new', ...newOrgPage },
  { at: '/favicon.ico', show: showFavicon },
  { at: '/me/tokens', ...tokensPage },
  { at: '/docs', show: showDocs },
  { at: '/join', show: showJoin, take: takeJoin },
  { at: '/me/invitation', show: leadToJoin },
  { at: '/me/password', ...passwordPage },
  { at: '/me/profile', ...profilePage },
  { at: '/me/identities', ...identitiesPage },
  { at: '/me/sessions', ...sessionsPage },
  { at: '/goodbye', show: showGoodbye },
  { at: '/admin', show: leadToAdmin },
  { at: '/admin/accounts', show: accountsPage.show },
  { at: '/admin/accounts/new', ...newAccountPage },
  { at: '/admin/accounts/{account}', ...accountPage },
  { at: '/admin/health', show: showHealth },
  { at: '/o/{org}', show: showOrg, hasWords: true, isOpening: true },
  { at: '/o/{org}/example', take: takeExample },
  { at: '/o/{org}/new', show: showNew, take: takeNew, formBytes: limits.formTextBytes },
  { at: '/o/{org}/settings/general', ...generalPage },
  { at: '/o/{org}/settings/rules', ...rulesPage },
  { at: '/o/{org}/settings/members', ...membersPage },
  { at: '/o/{org}/find', show: showFind },
  { at: '/o/{org}/subpages', show: showSubpages },
  { at: '/o/{org}/nodes', show: showTable },
  { at: '/o/{org}/proposals', show: showOrgProposals },
  {
    ...{ at: '/o/{org}/proposals/{number}', show: showChangeSet, isOpening: true, take: takeChangeSet },
    formBytes: limits.formTextBytes,
  },
  { at: '/o/{org}/changes', show: showOrgChanges },
  { at: '/o/{org}/activity', show: showOrgActivity, isOpening: true },
  { at: '/o/{org}/members', show: showPeople },
  { at: '/o/{org}/tags', show: showTags },
  { at: '/o/{org}/trash', show: showTrash, take: takeTrash },
  { at: '/o/{org}/changes.atom', show: showFeed },
  { at: '/o/{org}/sitemap.xml', show: showSitemap },
  { at: '/o/{org}/{node}', show: showNode, hasWords: true, isOpening: true },
  { at: '/o/{org}/{node}/history', show: showHistory, isOpening: true },
  { at: '/o/{org}/{node}/activity', show: showNodeActivity, isOpening: true },
  { at: '/o/{org}/{node}/compare', show: showCompare },
  { at: '/o/{org}/{node}/commits/{id}', show: showCommit },
  { at: '/o/{org}/{node}/commits/{id}/restore', show: showRestore, take: takeRestore },
  { at: '/o/{org}/{node}/blame', show: showBlame },
  { at: '/o/{org}/{node}/backlinks', show: showBacklinks },
  { at: '/o/{org}/{node}/edit', show: showEdit, take: takeEdit, formBytes: limits.formTextBytes },
  { at: '/o/{org}/{node}/rename', show: showRename, take: takeRename },
  { at: '/o/{org}/{node}/settings', show: showNodeSettings, take: takeNodeSettings, hasUploads: true },
  { at: '/o/{org}/{node}/subpages', show: showSubpages },
  { at: '/o/{org}/{node}/proposals', show: showProposals },
  {
    ...{ at: '/o/{org}/{node}/proposals/{number}', show: showProposal, isOpening: true },
    ...{ take: takeProposal, formBytes: limits.formTextBytes },
  },
  { at: '/o/{org}/{node}/proposals/{number}/resolve', show: showResolve, take: takeResolve },
  { at: '/o/{org}/{node}/proposals/{number}/undo', show: showUndo, take: takeUndo },
]

interface PageTemplate {
  readonly route: PageRoute
  readonly template: PathTemplate
}

/**
 * Returns the table of all pages. The order of routes does not matter: a literal segment comes before a parameter.
 *
 * @param more those of features
 */
export function pageTable(more: readonly PageRoute[]): readonly PageTemplate[] {
  const all = [...routes, ...more].map((route) => ({ route, template: parseTemplate(route.at) }))
  const keyOf = ({ template }: PageTemplate) => template.segments.map((one) => (one === undefined ? 1 : 0)).join('')
  return all.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : keyOf(a) > keyOf(b) ? 1 : 0))
}

interface Parts extends Answering {
  readonly table: readonly PageTemplate[]
  readonly findCredential: FindCredential
  readonly cookies: BrowserCookies
  readonly countRequest: CountRequest
  /** Set in a demo. */
  readonly demo: PageContext['demo']
  consentsOf(req: Request, res: Response, person: NonNullable<Credential>['person'] | undefined): Consents
}

/** Answers requests for pages and their assets, and passes on all other requests. */
export function pages(parts: Parts): RequestHandler {
  return async (req, res, next) => {
    const path = req.url.split('?', 1)[0] ?? ''
    if (path.startsWith('/assets/')) {
      note(req, { op: 'asset' })
      if (path === diagramFrame) sendDiagramFrame(req, res, new URL(baseUrl(parts.deps.config.publicUrl, req)).origin)
      else if (!sendAsset(req, res, path.slice('/assets/'.length))) throw new AppError('not_found', 'Not found')
      return
    }
    if (!isPage(parts, req, path)) {
      next()
      return
    }
    note(req, { op: 'page' })
    await answer(parts, req, res, path)
  }
}

/** True for a path that the API also has. Only browsers get pages there. */
function isShared(table: Parts['table'], path: string): boolean {
  return ['/', '/join', '/docs'].includes(path) || (path.startsWith('/admin/') && findRoute(table, path) !== undefined)
}

function isPage({ table }: Parts, req: Request, path: string): boolean {
  if (!isShared(table, path))
    return /^\/(?:o|me|sign-in\/oidc)\//.test(path) || table.some(({ route }) => route.at === path)
  req.res?.vary('Accept')
  return req.accepts(['json', 'html']) === 'html'
}

/** Answers a browser with a page if the path is unknown. Programs get the answer of the API. */
export function missingPages(parts: Parts): RequestHandler {
  return async (req, res, next) => {
    const path = req.url.split('?', 1)[0] ?? ''
    const isRead = req.method === 'GET' || req.method === 'HEAD'
    if (!isRead || findPath(path) !== undefined || req.accepts(['json', 'html']) !== 'html') {
      next()
      return
    }
    res.vary('Accept')
    note(req, { op: 'page' })
    await answer(parts, req, res, path)
  }
}

async function answer(parts: Parts, req: Request, res: Response, path: string): Promise<void> {
  const { deps, table } = parts
  setPageHeaders(res)
  const asking = { req, res, credential: undefined }
  showErrorsTo(() => visitOf(parts, asking, {}), res)
  const found = findRoute(table, path)
  const isRead = req.method === 'GET' || req.method === 'HEAD'
  const make = isRead ? found?.route.show : req.method === 'POST' ? found?.route.take : undefined
  const plain = path.replace(/\/+$/, '')
  if (found === undefined && isRead && plain !== path && findRoute(table, plain)) {
    res.redirect(301, publicPath(res, plain + req.url.slice(path.length)))
    return
  }
  // For reads, the error is thrown after the user is known, so that the error page shows them as signed in.
  if (found === undefined && !isRead) throw noPageError()
  if (found !== undefined && make === undefined) {
    res.set('Allow', [...(found.route.show ? ['GET', 'HEAD'] : []), ...(found.route.take ? ['POST'] : [])].join(', '))
    throw new AppError('method_not_allowed', `This page does not accept ${req.method} requests`)
  }
  const isOurs = isFromPage(req, deps.config.publicUrl)
  if (!isRead && !isOurs && found?.route.isOneClick !== true)
    throw new AppError('forbidden', 'Forms are accepted only from pages of this service')
  const sent = isRead ? undefined : await readSent(req, res, found?.route)
  // The answer to a form may contain a secret.
  if (!isRead) res.set('Cache-Control', 'no-store')
  const credential = await credentialOf(parts, req, res, isOurs || isNavigation(req))
  await parts.countRequest(req, res, credential?.person.id)
  const known = visitOf(parts, { ...asking, credential }, { params: found?.params ?? {}, ...sent })
  const send = async () => {
    const worded = isRead && found !== undefined ? await addressOfIds(known, found, req.url) : undefined
    if (worded !== undefined) return res.redirect(301, worded)
    const visit = await withUnread(parts, known, credential)
    showErrorsTo(() => visit, res)
    if (make === undefined) throw noPageError()
    const result = await make(visit).catch(asMissing)
    const moved = isRead && found !== undefined ? newAddress(visit, found, path) : undefined
    if (moved !== undefined && isShown(result)) res.redirect(301, moved + req.url.slice(path.length))
    else if (found?.route.isOpening && isOpened(req) && isShown(result))
      await sendResult(req, res, { ...visit, unread: await markOpened(visit) }, result)
    else await sendResult(req, res, visit, result)
  }
  // Forms have the limits of the operations that they call.
  await (isRead ? pageReads.run(known.turn, send) : send())
}

/** Adds the unread items of a user. A program with a token sees no number. */
async function withUnread({ deps }: Parts, visit: PageContext, credential: Credential): Promise<PageContext> {
  if (credential === undefined || credential.scope !== undefined) return visit
  const failed = (error: unknown) => deps.log.error({ err: error }, 'the number of unread items could not be read')
  return { ...visit, unread: await readUnread(visit, failed) }
}

/** True if somebody opens the page. A script that asks for it again shows only a part of it. */
function isOpened(req: Request): boolean {
  return req.method === 'GET' && isNavigation(req) && req.headers['sec-purpose'] === undefined
}

/** True if the visitor may read it. Only then may a redirect show the titles. */
function isShown(result: PageResult): boolean {
  return result.kind === 'text' || (result.kind === 'page' && (result.status ?? 200) === 200)
}

/** Returns the path with words for one that has only ids. Undefined for other paths, and if the page has to decide. */
async function addressOfIds(visit: PageContext, found: Found, url: string): Promise<string | undefined> {
  const { org: org_id, node: node_id } = found.params
  const hasIds = found.isOld || /\/[^/-]+(?:\/|$)/.test(url.slice('/o'.length))
  if (!hasIds || !found.route.hasWords || org_id === undefined || url.includes('?')) return undefined
  try {
    await visit.api.getOrg({ path: { org_id } })
    if (node_id !== undefined) await visit.api.getNode({ path: { org_id, node_id } })
  } catch {
    // The page shows the error.
    return undefined
  }
  return newAddress(visit, found, url)
}

/** Returns the path that a page has now, if the request has an old one. The visit has read the titles. */
function newAddress({ urls }: PageContext, { route, params, isOld, rest }: Found, path: string): string | undefined {
  const { org, node } = params
  if (org === undefined || !(isOld || route.hasWords)) return undefined
  const now = node === undefined ? urls.org(org) : urls.node(org, node)
  if (isOld) return now + rest
  // Proxies may encode a path in another way. Redirecting to the same path would not end.
  const isSame = decodePercent(now) === decodePercent(urls.root + path)?.normalize('NFC')
  return isSame ? undefined : now
}

/** Reads the form that was sent, or prepares it to be read by the page. */
async function readSent(
  req: Request,
  res: Response,
  { formBytes, hasUploads: takesFiles = false, isStreamed = false }: Partial<PageRoute> = {},
): Promise<Pick<Partial<PageContext>, 'form' | 'files' | 'upload'>> {
  if (isStreamed) return { upload: { type: req.headers['content-type'] ?? '', open: () => openUpload(req, res) } }
  if (!takesFiles || !hasUploads(req)) return { form: await readForm(req, res, formBytes) }
  const { fields, files } = await readUploads(req, res)
  return { form: fields, files }
}

function showErrorsTo(visitor: () => PageContext, res: Response): void {
  showErrorsBy(res, (error) => {
    const visit = visitor()
    res
      .status(error.status)
      .type('html')
      .send(pageHtml(visit, errorPage(visit, error)))
  })
}

/** Turns an invalid path into 404. */
function asMissing(error: unknown): never {
  const isAddress = error instanceof ValidationError && error.problems.every(({ loc }) => loc[0] === 'path')
  throw isAddress ? noPageError() : error
}

/**
 * Finds who makes the request. Removes a cookie that is not valid, and treats the visit as anonymous.
 *
 * @throws AppError invalid_token: the Authorization header has an invalid token
 */
async function credentialOf(
  { findCredential, cookies }: Parts,
  req: Request,
  res: Response,
  isLetIn: boolean,
): Promise<Credential> {
  const secret = cookies.read(req)
  if (req.headers.authorization !== undefined && bearerToken(req) !== secret) {
    const credential = await findCredential(bearerToken(req) ?? '')
    if (credential === undefined) throw new AppError('invalid_token', 'The token is invalid, expired or revoked')
    return credential
  }
  if (secret === undefined || !isLetIn) return undefined
  const credential = await findCredential(secret)
  if (credential === undefined) cookies.remove(req, res)
  return credential
}

interface Asking {
  readonly req: Request
  readonly res: Response
  readonly credential: Credential
}

function visitOf(
  parts: Parts,
  asking: Asking,
  more: Pick<Partial<PageContext>, 'params' | 'form' | 'files' | 'upload'>,
): PageContext {
  const { req, res, credential } = asking
  const [, query = ''] = req.url.split('?', 2)
  const urls = new Urls(publicPath(res, ''), baseUrl(parts.deps.config.publicUrl, req))
  return {
    api: learning(createInProcessApi(parts, { ...asking, door: 'page' }), urls),
    titles: (org, ids) => readTitles(parts, { ...asking, door: 'page' }, org, ids),
    person: credential?.person,
    turn: pageTurn(req, res, credential?.person),
    params: {},
    form: new URLSearchParams(),
    files: [],
    ...more,
    query: new URLSearchParams(query),
    urls,
    here: publicPath(res, req.url),
    signIn: async (accessToken) => {
      await parts.cookies.set(req, res, accessToken)
      const signedIn = await parts.findCredential(accessToken)
      return { api: createInProcessApi(parts, { req, res, credential: signedIn, door: 'page' }) }
    },
    signOut: () => parts.cookies.end(req, res),
    consents: parts.consentsOf(req, res, credential?.person),
    canSignIn: parts.cookies.isPossible(req),
    maintenance: parts.deps.maintenance.current(),
    embeddings: parts.deps.embeddings,
    sendsMail: parts.deps.config.mail !== undefined,
    demo: parts.demo,
    oidc: oidcVisit(parts.deps, {
      req,
      res,
      person: credential?.person,
      isFromPage: isFromPage(req, parts.deps.config.publicUrl),
    }),
  }
}

interface Found {
  readonly route: PageRoute
  /** The decoded parameters. `org` and `node` are UUIDs. */
  readonly params: Readonly<Record<string, string>>
  /** True if the path is `/o/{uuid}…` or `/o/{org}/n/{node}…`, as in the first versions of Grove. */
  readonly isOld: boolean
  /** The part of the path after the organisation and the node, as sent. */
  readonly rest: string
}

function findRoute(table: Parts['table'], path: string): Found | undefined {
  const sent = segmentsOf(path)
  const [o, org = '', n, node = '', ...more] = sent
  if (o !== 'o' || n !== 'n' || idIn(decodePercent(node) ?? '') === undefined) return matchRoute(table, sent)
  const place = ['o', org, node]
  // The words of the title were the last segment.
  const found = matchRoute(table, [...place, ...more]) ?? (more.length === 1 ? matchRoute(table, place) : undefined)
  return found && { ...found, isOld: true }
}

function matchRoute(table: Parts['table'], sent: readonly string[]): Found | undefined {
  for (const { route, template } of table) {
    const values = matchPath(template, sent)
    const params = values && withIds(values)
    if (values === undefined || params === undefined) continue
    const isOld = [values.org, values.node].some((one) => one !== undefined && idIn(one) === one.toLowerCase())
    return {
      route,
      params,
      isOld,
      rest: sent
        .slice(params.node === undefined ? 2 : 3)
        .map((one) => `/${one}`)
        .join(''),
    }
  }
  return undefined
}

/** Replaces the segments of an organisation and a node by their ids. Undefined if one of them has none. */
function withIds(values: Readonly<Record<string, string>>): Readonly<Record<string, string>> | undefined {
  const ids: Record<string, string> = {}
  for (const name of ['org', 'node']) {
    const segment = values[name]
    if (segment === undefined) continue
    const id = idIn(segment)
    if (id === undefined) return undefined
    ids[name] = id
  }
  return { ...values, ...ids }
}

/** Lets the URLs of a visit have the names and titles that it reads. */
function learning(api: Api, urls: Urls): Api {
  const getOrg: Api['getOrg'] = async (input) => {
    const org = await api.getOrg(input)
    urls.learn(org.id, org.name)
    // Each change anywhere changes it, also later. Facts of a page leave it out, so that the ETag stays.
    return Object.defineProperty(org, 'usage', { enumerable: false })
  }
  const getNode: Api['getNode'] = async (input) => {
    const node = await api.getNode(input)
    urls.learn(node.id, node.title)
    return node
  }
  // The object with these properties inherits all other operations.
  return Object.create(api, { getOrg: { value: getOrg }, getNode: { value: getNode } })
}
