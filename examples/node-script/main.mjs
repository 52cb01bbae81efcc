import { connect } from '@askback/client'

const { ASKBACK_URL: url = 'http://127.0.0.1:4100', ASKBACK_AGENT_TOKEN: token = '' } = process.env
const askback = connect({ url, token })
const session = askback.session('release')

const region = await session.choose('Where should 1.4.0 go first?', ['Europe', 'America'])
console.log(`Chosen: ${region}`)

// Nobody has to say yes: `outcome()` says how it ended, and why.
const approval = await session.approve('deploy', { version: '1.4.0', region }).outcome()
console.log(approval.ok ? `Deployed to ${approval.value.region}.` : `Not deployed: ${approval.message}`)
askback.close()
