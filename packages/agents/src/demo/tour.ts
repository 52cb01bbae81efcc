import type { Script, Step } from './script.js'

const welcome: Step[] = [
  {
    do: 'say',
    text:
      'Hello! I am a **scripted demo agent**: no model is behind me, and nothing I do touches your machine. ' +
      'I am here to show how an agent asks back. Let me look around first.\n',
  },
  {
    do: 'think',
    text: 'A small web shop. It needs a database, and somebody has to decide which one. I should ask.',
  },
  {
    do: 'tool',
    toolName: 'Read',
    input: { file_path: 'package.json' },
    output: '{ "name": "shop", "version": "1.4.0" }',
  },
  {
    do: 'tool',
    toolName: 'Glob',
    input: { pattern: 'src/**/*.ts' },
    output: 'src/cart.ts\nsrc/db.ts\nsrc/server.ts',
  },
]

const questions: Step[] = [
  {
    do: 'ask',
    name: 'database',
    questions: [
      {
        header: 'Database',
        question: 'Which database should the shop use?',
        multiSelect: false,
        options: [
          { label: 'PostgreSQL', description: 'One server, many clients. Ready for more than one machine.' },
          { label: 'SQLite', description: 'One file, nothing to run. Good for one machine.' },
        ],
      },
    ],
  },
  {
    do: 'when',
    name: 'database',
    is: 'answered',
    steps: [{ do: 'say', text: '**{{database}}** it is.\n' }],
    otherwise: [{ do: 'say', text: 'No answer, so I leave the database open.\n' }],
  },
  {
    do: 'ask',
    name: 'features',
    questions: [
      {
        header: 'Features',
        question: 'What should the first version have?',
        multiSelect: true,
        options: [
          { label: 'Search, by name', description: 'A label with a comma arrives as one label.' },
          { label: 'Wish lists' },
          { label: 'Gift cards' },
        ],
      },
      {
        header: 'Tests',
        question: 'How should it be tested?',
        multiSelect: false,
        options: [{ label: 'End to end' }, { label: 'Unit tests only' }],
      },
    ],
  },
]

/** The approvals of a command and an edit, which depend on the chosen database. */
function changes({ install, what, url }: { install: string; what: string; url: string }): Step[] {
  return [
    {
      do: 'approve',
      name: 'install',
      toolName: 'Bash',
      input: { command: `${install} && npm run migrate`, description: `Install ${what} and migrate` },
      title: 'Run a command',
      description: `Installs ${what} and runs the migrations.`,
      output: 'added 14 packages in 2s\n3 migrations applied',
    },
    reply('install', {
      approved: 'Done. Next, one file needs a change.\n',
      denied: 'All right, I leave that alone.{{install.reason}} One file needs a change all the same.\n',
      otherwise: 'No answer, so I leave that alone. One file needs a change all the same.\n',
    }),
    {
      do: 'approve',
      name: 'edit',
      toolName: 'Edit',
      input: {
        file_path: 'src/db.ts',
        old_string: "export const db = connect('memory')\n",
        new_string: `export const db = connect(${url})\n`,
      },
      title: 'Edit src/db.ts',
      edits: true,
      output: 'src/db.ts has been updated.',
    },
    reply('edit', {
      approved: 'The file is changed. Last, a plan.\n',
      denied: 'Then the file stays as it is.{{edit.reason}} Last, a plan.\n',
      otherwise: 'No answer, so the file stays as it is. Last, a plan.\n',
    }),
  ]
}

/** Says one of three texts, by the outcome of the named step. */
function reply(name: string, texts: { approved: string; denied: string; otherwise: string }): Step {
  const say = (text: string): Step[] => [{ do: 'say', text }]
  const refused: Step = {
    do: 'when',
    name,
    is: 'denied',
    steps: say(texts.denied),
    otherwise: say(texts.otherwise),
  }
  return { do: 'when', name, is: 'approved', steps: say(texts.approved), otherwise: [refused] }
}

const approvals: Step[] = [
  {
    do: 'when',
    name: 'features',
    is: 'answered',
    steps: [{ do: 'say', text: 'You chose {{features}}. Now I need your permission for a command.\n' }],
    otherwise: [
      { do: 'say', text: 'No answer, so I leave that open. Now I need your permission for a command.\n' },
    ],
  },
  {
    do: 'when',
    name: 'database',
    is: 'PostgreSQL',
    steps: changes({
      install: 'npm install --save-exact pg',
      what: 'the database driver',
      url: "process.env.DATABASE_URL ?? 'postgres://localhost/shop'",
    }),
    otherwise: [
      {
        do: 'when',
        name: 'database',
        is: 'SQLite',
        steps: changes({
          install: 'npm install --save-exact better-sqlite3',
          what: 'the database driver',
          url: "process.env.DATABASE_URL ?? 'sqlite:shop.db'",
        }),
        otherwise: changes({
          install: 'npm install --save-exact dotenv',
          what: 'the settings reader',
          url: 'process.env.DATABASE_URL',
        }),
      },
    ],
  },
]

/** `store`: where the cart is stored, in Markdown. */
function planOf(store: string): Step {
  return {
    do: 'plan',
    name: 'plan',
    plan: [
      '# The plan',
      '',
      '1. Add `src/search.ts` with an index over product names.',
      `2. Move the cart from memory to ${store}.`,
      '3. Cover both with tests before they ship.',
      '',
      '> Adjust it with a remark, or let me proceed.',
    ].join('\n'),
  }
}

const plan: Step[] = [
  {
    do: 'when',
    name: 'database',
    is: 'answered',
    steps: [planOf('**{{database}}**')],
    otherwise: [planOf('the database that you choose')],
  },
  reply('plan', {
    approved: 'Plan approved. A real agent would now set to work.\n',
    denied: 'Thank you.{{plan.reason}} With your feedback I stay with planning.\n',
    otherwise: 'No answer, so I do not start. A real agent would wait for your decision.\n',
  }),
]

const goodbye: Step[] = [
  {
    do: 'say',
    text:
      'That was the tour. Everything you saw is in the log: reload the page, open a second window, or restart ' +
      'the gateway while I wait, and nothing is lost. Write *form*, *parallel* or *error* to see more, ' +
      'or anything else for the tour once more.',
  },
]

const form: Step[] = [
  { do: 'say', text: 'A form, then. Its fields are checked where you type and again where it counts.\n' },
  {
    do: 'form',
    name: 'release',
    message: 'The release',
    schema: {
      sections: [
        {
          title: 'What',
          fields: [
            {
              name: 'version',
              type: 'text',
              label: 'Version',
              required: true,
              description: 'Like 1.2.3',
              pattern: '[0-9]+\\.[0-9]+\\.[0-9]+',
            },
            { name: 'notes', type: 'textarea', label: 'Notes', maxLength: 2000 },
          ],
        },
        {
          title: 'When',
          fields: [
            { name: 'now', type: 'boolean', label: 'Release at once' },
            {
              name: 'date',
              type: 'date',
              label: 'Date',
              required: true,
              visibleWhen: { field: 'now', equals: false },
            },
            {
              name: 'channel',
              type: 'select',
              label: 'Channel',
              required: true,
              options: [
                { value: 'stable', label: 'Stable' },
                { value: 'beta', label: 'Beta' },
              ],
            },
          ],
        },
      ],
    },
  },
  {
    do: 'when',
    name: 'release',
    is: 'answered',
    steps: [{ do: 'say', text: 'I have: `{{release}}`.' }],
    otherwise: [{ do: 'say', text: 'No answer, so there is no release.' }],
  },
]

const parallel: Step[] = [
  { do: 'say', text: 'Two questions and an approval at once. Answer them in any order.\n' },
  {
    do: 'together',
    steps: [
      {
        do: 'ask',
        name: 'color',
        questions: [
          {
            header: 'Color',
            question: 'Which color?',
            multiSelect: false,
            options: [{ label: 'Amber' }, { label: 'Emerald' }],
          },
        ],
      },
      {
        do: 'ask',
        name: 'size',
        questions: [
          {
            header: 'Size',
            question: 'Which size?',
            multiSelect: false,
            options: [{ label: 'Small' }, { label: 'Large' }],
          },
        ],
      },
      {
        do: 'approve',
        name: 'print',
        toolName: 'Bash',
        input: { command: 'make poster' },
        output: 'poster.pdf',
      },
    ],
  },
  { do: 'say', text: 'Color: {{color}}. Size: {{size}}. Printing: {{print}}.' },
]

/** The default script: shows every kind of request that an agent can open. */
export const tour: Script = {
  turns: [
    { on: 'form', steps: form },
    { on: 'parallel', steps: parallel },
    {
      on: 'error',
      steps: [
        { do: 'say', text: 'Watch.\n' },
        { do: 'fail', message: 'This is what an agent’s error looks like.' },
      ],
    },
    { steps: [...welcome, ...questions, ...approvals, ...plan, ...goodbye] },
  ],
}
