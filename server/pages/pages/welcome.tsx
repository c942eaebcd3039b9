/** The home page for visitors: what Grove is, and the ways in. */

import { purpose } from '../../base/purpose.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { assetName } from '../assets.ts'
import type { Page, PageContext } from '../page-context.ts'
import { Icon } from '../parts/icons.tsx'
import type { Urls } from '../urls.ts'

type Signup = AnswerOf<'getAuthConfig'>['signup']

/** The size in pixels of the pictures, which `npm run shots` takes. */
const picture = { width: 1480, height: 1010 } as const

const about = {
  title: `The ${purpose.is}`,
  first: purpose.keeps,
  second: 'Write in the browser or push with git; propose changes, review them word by word, and accept them.',
} as const

export async function showWelcome({ api, urls }: PageContext): Promise<Page> {
  const { signup } = await api.getAuthConfig({})
  return {
    ...{ kind: 'page', place: {}, facts: { welcome: signup } },
    head: {
      title: 'Grove',
      description: `${about.title}. ${about.first}`,
      canonical: urls.absolute(urls.home()),
      kind: 'website',
    },
    body: () => (
      <main id="main" class="welcome">
        <p class="mark">
          <Icon name="leaf" size={44} />
        </p>
        <h1>{about.title}</h1>
        <p class="lede">
          {about.first} {about.second}
        </p>
        <WaysIn urls={urls} signup={signup} />
        <figure>
          {(['light', 'dark'] as const).map((scheme) => (
            <img
              {...picture}
              class={`in-${scheme}`}
              src={urls.asset(assetName(`welcome-${scheme}.webp`))}
              alt="A page about baleen whales with its links, and a proposed change that is shown word by word"
              // The browser loads only the picture that is displayed.
              loading="lazy"
            />
          ))}
        </figure>
        <nav class="why" aria-label="Documentation">
          <a href={`${urls.root}/docs/guide`}>Use the API</a>
          <a href={`${urls.root}/docs`}>API reference</a>
          <a href={`${urls.root}/docs/git`}>Use Git</a>
        </nav>
      </main>
    ),
  }
}

/** The first button is the way that is open to a newcomer. */
function WaysIn({ urls, signup }: { readonly urls: Urls; readonly signup: Signup }) {
  return (
    <>
      <p class="acts">
        {signup === 'open' && (
          <a class="btn go" href={urls.signUp()}>
            Create an account
          </a>
        )}
        {signup === 'invite' && (
          <a class="btn go" href={urls.join()}>
            Join by invitation
          </a>
        )}
        <a class={signup === 'closed' ? 'btn go' : 'btn'} href={urls.signIn()}>
          Sign in
        </a>
      </p>
      {signup === 'invite' && <p class="why">New accounts need an invitation from a member.</p>}
      {signup === 'closed' && <p class="why">Sign-up is closed. Ask the operator for an account.</p>}
    </>
  )
}
