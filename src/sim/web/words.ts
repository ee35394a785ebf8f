/** Words of no language, for the texts of simulated pages. */

const LINES: readonly string[] = [
  'bahotul bar begu behus bemer beter betigas betit bevigal bimit bisat bisis bivet bizecun bocol bogal bomil bon bonor bozit bugir',
  'bul bupi but buten buzoran cal catas cavon cecosa cefas cefin cer cerivon ceropu cet cetut cibetas cifas cilos ciruzil cisot',
  'cizukan cocemit cocir coher col cor cosakol coto cubar cufol culinis cupas cur dabinus dagi dagukel dakevas dar das dat debot',
  'deda dedon defupan dehis deles denon detanal dicir difal difat dikifor dipacar dipefus dipos diris dison dodihut dohel dor',
  'dovapun dozafan dulidur dun dusil dut dutan duton duvol duzen fabever fados faginul fal falir faper fapon fapot far faripa fatut',
  'fazat febol fedal fema fenocar fer fes fevit fideta fihes fihil fimar fipur fis fisakel fizamas fizubi fogar fohar fosor fovulul',
  'fubon fukatot fulin funavol fut fuzi gabit gamibis gebaken gehohat gevut gezo gidiher gigan gil gini ginot gipen gipir gis gisos',
  'gobal goher gohus gokal golaru gorazat gotas gotul gudikol gudon gugo guher gul gulas gulir gumel gus gusus gut guvir hacural',
  'hago hakat hapicar har has hasel havit hazun hegohus hehecus hehis hel helol helut hemes hes hesi hevogon hil hir hisis hit hobe',
  'hobor hocezot hodohas hofimil hokit hopir hor hori horur hosukal hoze hozit hozovun hul huset kabimos kabor kanel karan kas kasel',
  'kavukal kazit keba kecel kecos kedibo kegoves kekekal kel kepuman kes ket kezor kigori kikon kilat kipevon kir kires kizot kobar',
  'kol konetit kos kose kotoges kucovis kugot kukuzir kuletur kuzat ladokel lafal lakir lapan larut lecon legur lel len lezus',
  'licesas lidemat lidun lifakan lirel lis livet lobanar loces loduzer lofulal lohuhil lokor lonidun lot lotit lovopat lufo lulicun',
  'lulis lutut luzabel luzot mabon madar mafat maket malos marifun mas mat mati mavel maze mazozes mefo mehekin mekes menol menut',
  'mepufir midur miko miles misat mizis mofor moful moni mor mot mubukas mul mus muvites naful nalezur nameda nanate natan natetit',
  'nebipen neke nemimil nepusot nes nesen net nifas nikul nilal nir nogun nolas nomihis norenel nubor nubul nudar nufer nuger',
  'nusopir nut nuvil paba pan panitut pedomut pedukon pega pelavin pelot pero perocer pibet picaba pilamir pilin pis piter pogis pol',
  'pomizon povakel pugu puhol pumat pupubet putun ranat rat ratin ratot ravo reban rekol rel reniros repil resat rezor rimenon rir',
  'rirovet ris ritit robocet rohol rol rone rot rubon rucut rudol rukot rumodal rures rutan saco safurel san sanefen sanur sapat sas',
  'sasat sasohun segapat sehipun sepegan seren setel siful sin sis socil sofe sol sonet sor soseno subil sudunus sufekol sukot',
  'sumutul sun suzul tal tamivo tapis tapives tar tares taval tavilis tegi ten tepon ter terat tesedor tezen ticar tigas tihon tihor',
  'tikis time timil tit titul tobeper todovir tolel tolun tomut tona tubozil tucal tul tur tuzas vabet vaca val valonat valor vama',
  'varefel vehocen vehus ven vil vili vin vir virir vitot vizan vofar volaget vosihur votugon vozor vubebol vucugor vur zaban zabur',
  'zagal zal zamuze zan zavi zehos zepan zer zezes zical zigin zil zimer zimut zinil zir ziragin zison zizos zocit zodun zon zonur',
  'zor zosel zosul zotepis zudil zuliti zun zutimur',
];

export const WORDS: readonly string[] = LINES.flatMap((line) => line.split(' '));
