/** The frame of every page: head, skip link, and top bar with search. */

import type { ComponentChildren } from 'preact'
import { assetName } from '../assets.ts'
import type { Head, MaintenanceNotice, PageContext, PagePlace } from '../page-context.ts'
import { numbered, unreadNumber } from '../text/unread-number.ts'
import type { Urls } from '../urls.ts'
import { Basket } from './basket.tsx'
import { Bell, UnreadNumber } from './bell.tsx'
import { When } from './dates.tsx'
import { DemoBanner } from './demo-banner.tsx'
import { Icon } from './icons.tsx'
import { colourOf, initial } from './people.tsx'

interface FrameProps {
  readonly visit: Pick<
    PageContext,
    'urls' | 'person' | 'here' | 'params' | 'query' | 'maintenance' | 'oidc' | 'demo' | 'unread'
  >
  readonly head: Head
  readonly place: PagePlace
  readonly children: ComponentChildren
}

export function Frame({ visit, head, place, children }: FrameProps) {
  // Without an organisation, an anonymous visitor has nothing to go to.
  const hasQuick = visit.person !== undefined || place.org !== undefined
  return (
    <html lang="en">
      <HeadOf head={head} visit={visit} hasSide={place.hasSide} hasQuick={hasQuick} />
      <body
        data-org={place.org?.id}
        data-name={place.org?.name}
        data-root={visit.urls.root}
        data-person={visit.person?.id}
        data-quick={hasQuick ? '' : undefined}
        class={visit.maintenance && isAboutContent(visit.urls.root, visit.here) ? 'still' : undefined}
      >
        <a class="skip" href="#main">
          Skip to content
        </a>
        <Bar visit={visit} head={head} place={place} />
        {visit.maintenance && <Maintenance notice={visit.maintenance} />}
        {visit.demo && <DemoBanner visit={visit} demo={visit.demo} />}
        {visit.person && place.org && <Basket visit={visit} org={place.org} />}
        {children}
      </body>
    </html>
  )
}

/** True for pages whose forms change content. Maintenance mode hides these forms. */
function isAboutContent(root: string, here: string): boolean {
  return /^\/(?:o\/|new$|sign-up$)/.test(here.slice(root.length).split('?', 1)[0] ?? '')
}

function Maintenance({ notice: { message, until } }: { readonly notice: MaintenanceNotice }) {
  return (
    <div class="notice maintenance" role="status">
      Grove is in maintenance: you can read, but not change anything. {message}{' '}
      {until && (
        <>
          Expected end: <When time={until} as="day" />, <When time={until} as="clock" />.
        </>
      )}
    </div>
  )
}

function HeadOf({
  head,
  visit,
  hasSide = false,
  hasQuick,
}: {
  readonly head: Head
  readonly visit: Pick<FrameProps['visit'], 'urls' | 'person' | 'unread'>
  readonly hasSide?: boolean | undefined
  /** True if the page loads the switcher on demand. */
  readonly hasQuick: boolean
}) {
  const { title, description, image, canonical, kind, data, alternates = [], noIndex, script, refresh, movesTo } = head
  const { hasNoScript = false } = head
  const asset = (name: string) => visit.urls.asset(assetName(name))
  return (
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>{visit.person ? numbered(title, unreadNumber(visit.unread)) : title}</title>
      {description && <meta name="description" content={description} />}
      {noIndex && <meta name="robots" content="noindex" />}
      {canonical && <link rel="canonical" href={canonical} />}
      {kind && <meta property="og:type" content={kind} />}
      {kind && <meta property="og:title" content={title} />}
      {kind && description && <meta property="og:description" content={description} />}
      {kind && image && <meta property="og:image" content={image} />}
      {kind && canonical && <meta property="og:url" content={canonical} />}
      {alternates.map((one) => (
        <link rel="alternate" {...one} />
      ))}
      <link rel="icon" href={asset('leaf.svg')} />
      {fonts.map((font) => (
        <link rel="preload" href={asset(font)} as="font" type="font/woff2" crossorigin="anonymous" />
      ))}
      <link rel="stylesheet" href={asset('style.css')} />
      {movesTo && <meta http-equiv="refresh" content={`0; url=${movesTo}`} />}
      {!hasNoScript && <script src={asset('theme.js')} />}
      {!hasNoScript && <script type="module" src={asset('page.js')} />}
      {!hasNoScript && <script type="module" src={asset('times.js')} {...beforePaint} />}
      {hasQuick && !hasNoScript && <script type="module" src={asset('quick.js')} />}
      {script && <script type="module" src={asset(script)} />}
      {hasSide && <script type="module" src={asset('tree.js')} {...beforePaint} />}
      {refresh && (
        <noscript>
          <meta http-equiv="refresh" content={`${refresh}`} />
        </noscript>
      )}
      {data && <script type="application/ld+json" dangerouslySetInnerHTML={{ __html: asData(data) }} />}
    </head>
  )
}

/** Lets a script scroll the tree and show times before the first paint. Other browsers run it afterwards. */
const beforePaint = { blocking: 'render' }

/** The fonts of every page. A font that comes after the first paint moves the words. */
const fonts = ['inter-latin-wght-normal.woff2', 'source-serif-4-latin-wght-normal.woff2'] as const

/** Serialises JSON-LD so that it is safe inside a script element. */
function asData(data: object): string {
  return JSON.stringify(data).replaceAll('<', '\\u003c')
}

type BarProps = Omit<FrameProps, 'children'>

function Bar({ visit, head, place }: BarProps) {
  const { urls, person, query } = visit
  const { org } = place
  return (
    <header class="top">
      <Crumbs {...{ urls, person, place }} />
      {org ? (
        <Search urls={urls} org={org} words={query.get('q') ?? ''} />
      ) : (
        <SwitchField isShown={person !== undefined} />
      )}
      <Tools visit={visit} head={head} place={place} />
    </header>
  )
}

interface CrumbsProps extends Pick<PageContext, 'urls' | 'person'> {
  readonly place: PagePlace
}

function Crumbs({ urls, person, place }: CrumbsProps) {
  const { org, crumb, hasSide = false } = place
  return (
    <nav class="crumbs" aria-label="Breadcrumb">
      {hasSide && (
        <a class="icon only-m" href="#side" aria-label="Contents">
          <Icon name="menu" size={18} />
        </a>
      )}
      <a class="logo" href={urls.home()} aria-label="Grove" data-key={org ? undefined : 'h'} data-key-name="Home">
        <Icon name="leaf" size={19} />
        {!org && <span>Grove</span>}
      </a>
      {org && (
        <a class="logo name" href={urls.org(org.id)}>
          {org.name}
        </a>
      )}
      {person && <Orgs urls={urls} />}
      {crumb && (
        <span class="sep wide-only" aria-hidden="true">
          /
        </span>
      )}
      {crumb && <span class="wide-only crumb">{crumb}</span>}
    </nav>
  )
}

/** The list of the user's organisations. A script fills it when it opens. Without one, the arrow leads to the list. */
function Orgs({ urls }: { readonly urls: Urls }) {
  const label = 'Your organisations'
  return (
    <>
      <details class="menu orgs with-script" data-orgs>
        <summary class="icon" aria-label={label} title={label}>
          <Icon name="right" size={14} />
        </summary>
        <div class="menu-items">
          <div>
            <a href={urls.home()}>Home</a>
          </div>
          <div data-listed />
          <div>
            <a href={urls.newOrg()}>New organisation</a>
          </div>
        </div>
      </details>
      <a class="icon orgs without-script" href={urls.home()} aria-label={label}>
        <Icon name="right" size={14} />
      </a>
    </>
  )
}

/** The buttons at the end of the top bar. */
function Tools({ visit: { urls, person, here, oidc, unread }, head, place: { org, node } }: BarProps) {
  return (
    <div class="tools">
      {!org && person && (
        <button class="icon only-m with-script" type="button" aria-label="Go to a page" data-switch>
          <Icon name="search" size={18} />
        </button>
      )}
      {org && (
        <a class="icon only-m" href={urls.find(org.id)} aria-label="Search">
          <Icon name="search" size={18} />
        </a>
      )}
      {org && (
        <a
          class="icon"
          href={urls.graph(org.id, node === undefined ? {} : { focus: node })}
          aria-label="Graph"
          title="Graph (g)"
          data-key="g"
        >
          <Icon name="graph" size={18} />
        </a>
      )}
      {person && <Bell urls={urls} unread={unread} />}
      <button
        class="icon"
        type="button"
        aria-label="Switch between light and dark"
        title="Switch between light and dark (d)"
        data-theme-toggle
      >
        <Icon name="moon" size={17} />
      </button>
      <button
        class="icon wide-only"
        type="button"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts (?)"
        data-show-keys
      >
        ?
      </button>
      {person ? (
        <PersonMenu urls={urls} person={person} unread={unread} hasServices={oidc.services.length > 0} />
      ) : (
        <a class="btn quiet" href={urls.signIn(head.noIndex && !org ? undefined : here)}>
          Sign in
        </a>
      )}
    </div>
  )
}

interface PersonMenuProps {
  readonly urls: Urls
  readonly person: NonNullable<PageContext['person']>
  readonly unread: PageContext['unread']
  /** True if users can sign in through other services. */
  readonly hasServices: boolean
}

function PersonMenu({ urls, person, unread, hasServices }: PersonMenuProps) {
  return (
    <details class="menu">
      <summary class="me" data-c={colourOf(person.name)} aria-label={`Signed in as ${person.name}`}>
        {initial(person.name)}
      </summary>
      <form method="post" action={urls.signOut()} data-sign-out>
        <p>{person.name}</p>
        <a href={urls.home()}>Organisations</a>
        <a href={urls.me('inbox')}>
          Inbox <UnreadNumber unread={unread} />
        </a>
        <a href={urls.newOrg()}>New organisation</a>
        <a href={urls.me('profile')}>Profile</a>
        <a href={urls.me('notifications')}>Notifications</a>
        <a href={urls.me('password')}>Password</a>
        <a href={urls.me('tokens')}>Tokens</a>
        <a href={urls.me('connections')}>Connections</a>
        {hasServices && <a href={urls.me('identities')}>Ways to sign in</a>}
        {person.isAdmin && <a href={urls.admin('accounts')}>Administration</a>}
        <button class="btn" type="submit">
          Sign out
        </button>
      </form>
    </details>
  )
}

/** The button of the switcher. It is where pages of an organisation have their search field. */
function SwitchField({ isShown }: { readonly isShown: boolean }) {
  return (
    <span class="search">
      {isShown && (
        <button class="find with-script" type="button" data-switch>
          <Icon name="search" />
          Go to a page
          <kbd class="k">Ctrl K</kbd>
        </button>
      )}
    </span>
  )
}

interface SearchProps {
  readonly urls: Urls
  readonly org: NonNullable<PagePlace['org']>
  readonly words: string
}

function Search({ urls, org, words }: SearchProps) {
  return (
    <search class="search">
      <form class="find" action={urls.find(org.id)} data-search>
        <button type="submit" aria-label="Search">
          <Icon name="search" />
        </button>
        <input
          type="search"
          name="q"
          value={words}
          placeholder={`Search ${org.name}`}
          aria-label={`Search ${org.name}`}
          autocomplete="off"
          maxLength={1000}
        />
        <kbd class="k">/</kbd>
      </form>
    </search>
  )
}
