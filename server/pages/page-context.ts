/** A visit of a page: who comes, what the page may ask, and what it can answer. */

import type { VNode } from 'preact'
import type { Api } from '../../spec/client/api.ts'
import type { Credential } from '../http/in-process.ts'
import type { Urls } from './urls.ts'

export interface PageContext {
  readonly api: Api
  /** Who has signed in. */
  readonly person: NonNullable<Credential>['person'] | undefined
  /** What the address of the page names, decoded. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** The fields of a form; empty where none was sent. */
  readonly form: URLSearchParams
  readonly urls: Urls
  /** The path and query of the request, as a browser would ask for it. */
  readonly here: string
  /** Signs a browser in with an access token that a login has given; answers what the person may ask from then on. */
  signIn(accessToken: string): Promise<{ readonly api: Api }>
  signOut(): Promise<void>
  /** Whether a browser would keep the cookie. */
  readonly canSignIn: boolean
}

/** What stands in the head of a page, and around it. */
export interface Head {
  readonly title: string
  readonly description?: string
  /** The one address of what is shown. */
  readonly canonical?: string
  /** Of a page that anyone may read: `article` or `website`. */
  readonly kind?: 'article' | 'website'
  /** JSON-LD. */
  readonly data?: object
  readonly alternates?: readonly { readonly type: string; readonly title: string; readonly href: string }[]
  readonly noIndex?: boolean
}

/** The organisation that the bar at the top names. */
export interface PagePlace {
  readonly org?: { readonly id: string; readonly name: string }
  /** The node that is shown, by its id. */
  readonly node?: string
  /** After the organisation. */
  readonly crumb?: string
  /** Whether there is a tree to open on a small screen. */
  readonly hasSide?: boolean
}

export interface Page {
  readonly kind: 'page'
  /** Default: 200. */
  readonly status?: number
  readonly head: Head
  readonly place: PagePlace
  /** Everything that the page shows: the same facts are the same page. */
  readonly facts: unknown
  /** Called only where the browser does not have the page yet; `prepare` before `body`. */
  prepare?(): Promise<void>
  body(): VNode
}

export interface Redirect {
  readonly kind: 'redirect'
  readonly status: 301 | 302 | 303
  readonly to: string
}

/** What is no HTML: a feed, a list for crawlers. */
export interface Text {
  readonly kind: 'text'
  readonly type: string
  readonly text: string
}

export type PageResult = Page | Redirect | Text

export function redirect(status: Redirect['status'], to: string): Redirect {
  return { kind: 'redirect', status, to }
}

/** @throws Error where the address of the page names nothing so */
export function param({ params }: PageContext, name: string): string {
  const value = params[name]
  if (value === undefined) throw new Error(`The page has no parameter ${name}`)
  return value
}
