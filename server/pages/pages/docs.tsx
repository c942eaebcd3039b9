/** The reference of the API in the frame of pages. Swagger UI draws it, so it needs script. */

import type { Page, PageContext } from '../page-context.ts'

/** The policy of pages, with inline styles. Swagger UI sets them on elements. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

export function showDocs(visit: PageContext): Promise<Page> {
  const { urls, person } = visit
  const file = (name: string) => `${urls.root}/docs/${name}`
  return Promise.resolve({
    ...{ kind: 'page', policy, place: {}, facts: {} },
    head: { title: 'API reference · Grove', description: 'The operations of the API of Grove, to read and to try.' },
    body: () => (
      <main id="main" class="docs">
        <link rel="stylesheet" href={file('swagger-ui.css')} />
        <h1>API reference</h1>
        <Access visit={visit} isSignedIn={person !== undefined} />
        <nav class="docs-links" aria-label="Documents">
          <a href={file('guide')}>Guide</a>
          <a href={file('errors')}>Errors</a>
          <a href={file('limits')}>Limits</a>
          <a href={file('git')}>Git</a>
          <a href={`${urls.root}/openapi.json`}>openapi.json</a>
        </nav>
        <noscript>
          <p class="notice">
            This reference is drawn by a script. Without it, read <a href={`${urls.root}/openapi.json`}>openapi.json</a>
            .
          </p>
        </noscript>
        <div id="spec" />
        <script src={file('swagger-ui-bundle.js')} />
        <script src={file('start.js')} />
      </main>
    ),
  })
}

/** Says as whom requests from this page are sent, and how to get a token. */
function Access({ visit: { urls, here }, isSignedIn }: { readonly visit: PageContext; readonly isSignedIn: boolean }) {
  return isSignedIn ? (
    <p class="why">
      Requests that you send with “Try it out” are yours, and change your data. For programs,{' '}
      <a href={urls.me('tokens')}>create a token</a>.
    </p>
  ) : (
    <p class="why">
      To send requests as yourself, <a href={urls.signIn(here)}>sign in</a>, or enter a token after “Authorize”. You{' '}
      <a href={urls.me('tokens')}>create tokens</a> after you sign in.
    </p>
  )
}
