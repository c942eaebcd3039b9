/** A visit of a page: the user, the API, and the possible results. */

import type { Readable } from 'node:stream'
import type { VNode } from 'preact'
import type { Api } from '../../spec/client/api.ts'
import { AppError } from '../base/errors.ts'
import type { Services } from '../domain/services.ts'
import type { Consents } from '../http/consents.ts'
import type { SentFile } from '../http/contract/multipart.ts'
import type { AnswerOf, Credential } from '../http/in-process.ts'
import type { OidcVisit } from '../http/oidc/visit.ts'
import type { PageTurn } from '../http/page-turns.ts'
import type { Urls } from './urls.ts'

export interface PageContext {
  readonly api: Api
  /** Maps ids of nodes to their titles. Omits nodes that the visitor cannot read. @throws AppError as `listNodes`, moving */
  titles(org_id: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** The signed-in user. */
  readonly person: NonNullable<Credential>['person'] | undefined
  /** The unread items of the user's inbox. Undefined: unknown, or the visitor has none. */
  readonly unread?: AnswerOf<'listUnread'> | undefined
  /** The parameters in the page's path, decoded. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** The fields of the form; empty if no form was sent. */
  readonly form: URLSearchParams
  /** The files of the form, in order. */
  readonly files: readonly SentFile[]
  /** A form with files, which has not been read. */
  readonly upload?: { readonly type: string; readonly open: () => Readable }
  /** The turn of the reader in shared work, which ends when the reader leaves. */
  readonly turn: PageTurn
  readonly urls: Urls
  /** The path and query of the request, as the browser sees them. */
  readonly here: string
  /** Signs the browser in with the access token of a login. Returns the API for that user. */
  signIn(accessToken: string): Promise<{ readonly api: Api }>
  signOut(): Promise<void>
  /** Consents of the user to programs. */
  readonly consents: Consents
  /** True if a browser would keep the cookie. */
  readonly canSignIn: boolean
  /** Signing in through another service. */
  readonly oidc: OidcVisit
  /** True if the service sends mail. */
  readonly sendsMail: boolean
  /** Search by meaning. Undefined: the service has no model. */
  readonly embeddings: Pick<NonNullable<Services['embeddings']>, 'model' | 'allows'> | undefined
  /** Set in maintenance mode, in which nothing can be changed. */
  readonly maintenance: MaintenanceNotice | undefined
  /** Set in a demo. */
  readonly demo: DemoNotice | undefined
}

/** The organisation of a demo, and the accounts between which its visitors may change. */
export interface DemoNotice {
  /** The id of the organisation. */
  readonly org: string
  readonly accounts: readonly DemoAccount[]
}

/** An account of a demo. Its password is printed in the source, and shown. */
interface DemoAccount {
  readonly name: string
  readonly role: string
  readonly email: string
  readonly password: string
}

/** The operator's notice of maintenance mode. */
export interface MaintenanceNotice {
  readonly message?: string
  /** ISO 8601: the expected end. */
  readonly until?: string
}

/** The metadata of a page. */
export interface Head {
  readonly title: string
  readonly description?: string
  /** The absolute URL of the picture next to links to the page. */
  readonly image?: string
  /** The canonical URL. */
  readonly canonical?: string
  /** The Open Graph type of a page that anyone may read. */
  readonly kind?: 'article' | 'website'
  /** JSON-LD. */
  readonly data?: object
  readonly alternates?: readonly {
    readonly rel?: string
    readonly type: string
    readonly title: string
    readonly href: string
  }[]
  readonly noIndex?: boolean
  /** A script that only this page loads, in addition to the common ones. */
  readonly script?: string
  /** Seconds after which a browser without script loads the page again. */
  readonly refresh?: number
  /** Every browser moves on to this URL. */
  readonly movesTo?: string
  /** True if the page loads no script, and none may run. */
  readonly hasNoScript?: boolean
}

/** The position of the page, which the bar at the top shows. */
export interface PagePlace {
  readonly org?: Pick<AnswerOf<'getOrg'>, 'id' | 'name' | 'draft_change_sets'>
  /** The id of the node that is shown. */
  readonly node?: string
  /** The breadcrumb after the organisation. */
  readonly crumb?: string
  /** True if the page has a tree to open on a small screen. */
  readonly hasSide?: boolean
}

export interface Page {
  readonly kind: 'page'
  /** Default: 200. */
  readonly status?: number
  /** Seconds after which another try makes sense, for a page that is unavailable. */
  readonly retryAfter?: number
  readonly head: Head
  /** The Content-Security-Policy, if it is not that of all pages. */
  readonly policy?: string
  readonly place: PagePlace
  /** True if the request has ended the session. The bar then shows no user. */
  readonly isSignedOut?: boolean
  /** All data that the page shows, for its ETag. The same facts make the same page. */
  readonly facts: unknown
  /** Runs before `body`. Both run only if the browser does not have the page yet. */
  prepare?(): Promise<void>
  body(): VNode
}

export interface Redirect {
  readonly kind: 'redirect'
  readonly status: 301 | 302 | 303
  readonly to: string
}

/** A response that is not HTML: a feed or a sitemap. */
export interface Text {
  readonly kind: 'text'
  readonly type: string
  readonly text: string
}

export type PageResult = Page | Redirect | Text

export function redirect(status: Redirect['status'], to: string): Redirect {
  return { kind: 'redirect', status, to }
}

/** Returns a parameter of the path. @throws Error if the path has no parameter with this name */
export function param({ params }: PageContext, name: string): string {
  const value = params[name]
  if (value === undefined) throw new Error(`The page has no parameter ${name}`)
  return value
}

/** The error of an address that leads to no page. */
export function noPageError(): AppError {
  return new AppError('not_found', 'This URL leads to no page')
}
